//! Grants by name as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::staff};
use companion_domain::model::{StaffGrant, StaffGrants, UserId};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = staff)]
pub(crate) struct StaffRow {
    pub(crate) user_id: i64,
    pub(crate) grants: String,
}

impl From<(UserId, StaffGrants)> for StaffRow {
    fn from((user, grants): (UserId, StaffGrants)) -> Self {
        let names: Vec<_> = grants.iter().map(StaffGrant::as_str).collect();
        Self { user_id: to_column(user), grants: names.join(" ") }
    }
}

impl Keyed for StaffRow {
    fn key(&self) -> Key {
        Key::Id(self.user_id)
    }
}

impl TryFrom<StaffRow> for (UserId, StaffGrants) {
    type Error = RowError;

    fn try_from(row: StaffRow) -> Result<Self, RowError> {
        let grants: Result<StaffGrants, _> =
            row.grants.split_terminator(' ').map(str::parse::<StaffGrant>).collect();
        Ok((
            from_column(row.user_id, "staff", "user_id")?,
            grants.map_err(makes_no_sense("staff", "grants"))?,
        ))
    }
}
