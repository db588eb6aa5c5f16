//! Members' roles as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, from_text, to_column, to_text},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::members};
use companion_domain::model::{Member, RoleSet};
use diesel::{Insertable, Queryable, Selectable};

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = members)]
pub(crate) struct MemberRow {
    pub(crate) guild: i64,
    pub(crate) user_id: i64,
    pub(crate) roles: String,
}

impl From<&Member> for MemberRow {
    fn from(member: &Member) -> Self {
        Self {
            guild: to_column(member.guild),
            user_id: to_column(member.user),
            roles: to_text(member.roles.as_slice()),
        }
    }
}

impl Keyed for MemberRow {
    fn key(&self) -> Key {
        Key::Ids(self.guild, self.user_id)
    }
}

impl TryFrom<MemberRow> for Member {
    type Error = RowError;

    fn try_from(row: MemberRow) -> Result<Self, RowError> {
        Ok(Self {
            guild: from_column(row.guild, "members", "guild")?,
            user: from_column(row.user_id, "members", "user_id")?,
            roles: roles_from_text(&row.roles)?,
        })
    }
}

/// The set of roles that a column holds.
pub(crate) fn roles_from_text(text: &str) -> Result<RoleSet, RowError> {
    from_text(text).and_then(RoleSet::new).map_err(makes_no_sense("members", "roles"))
}
