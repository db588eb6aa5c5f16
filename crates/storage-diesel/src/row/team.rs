//! Places in the team as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::team};
use companion_domain::model::{TeamMember, User};
use diesel::{Insertable, Queryable, Selectable};

#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = team)]
pub(crate) struct TeamRow {
    pub(crate) user_id: i64,
    pub(crate) category: String,
    pub(crate) username: String,
    pub(crate) name: String,
    pub(crate) avatar: String,
    pub(crate) role: String,
    pub(crate) color: String,
    pub(crate) position: i64,
}

impl From<&TeamMember> for TeamRow {
    fn from(member: &TeamMember) -> Self {
        Self {
            user_id: to_column(member.user.id),
            category: member.category.to_string(),
            username: member.user.username.to_string(),
            name: member.user.name.to_string(),
            avatar: member.user.avatar.to_string(),
            role: member.role.to_string(),
            color: member.color.to_string(),
            position: member.position.into(),
        }
    }
}

impl Keyed for TeamRow {
    fn key(&self) -> Key {
        Key::Text(Some(self.user_id), self.category.clone())
    }
}

impl TryFrom<TeamRow> for TeamMember {
    type Error = RowError;

    fn try_from(row: TeamRow) -> Result<Self, RowError> {
        const TABLE: &str = "team";
        let user = User {
            id: from_column(row.user_id, TABLE, "user_id")?,
            username: row.username.parse().map_err(makes_no_sense(TABLE, "username"))?,
            name: row.name.parse().map_err(makes_no_sense(TABLE, "name"))?,
            avatar: row.avatar.parse().map_err(makes_no_sense(TABLE, "avatar"))?,
        };
        Ok(Self {
            user,
            role: row.role.parse().map_err(makes_no_sense(TABLE, "role"))?,
            color: row.color.parse().map_err(makes_no_sense(TABLE, "color"))?,
            category: row.category.parse().map_err(makes_no_sense(TABLE, "category"))?,
            position: i32::try_from(row.position).map_err(makes_no_sense(TABLE, "position"))?,
        })
    }
}
