//! Blocked users, and permissions granted to individual users. A user is blocked if there is a row.

use super::{
    column::{from_column, to_column},
    row::{BlockedRow, Row, StaffRow, read},
    unreadable::Unreadable,
};
use crate::failure::RowError;
use companion_domain::model::{StaffPermission, StaffPermissions, UserId};

impl Row for BlockedRow {
    type Value = UserId;

    fn of(user: &UserId) -> Self {
        Self { user_id: to_column(*user) }
    }

    fn read(&self, _: &Unreadable) -> Result<UserId, RowError> {
        Ok(read!(self.user_id, from_column))
    }
}

impl Row for StaffRow {
    type Value = (UserId, StaffPermissions);

    fn of((user, grants): &(UserId, StaffPermissions)) -> Self {
        let names: Vec<_> = grants.iter().map(StaffPermission::as_str).collect();
        Self { user_id: to_column(*user), grants: names.join(" ") }
    }

    fn read(&self, _: &Unreadable) -> Result<(UserId, StaffPermissions), RowError> {
        let grants =
            |names: &String| names.split_terminator(' ').map(str::parse::<StaffPermission>).collect();
        Ok((read!(self.user_id, from_column), read!(self.grants, grants)))
    }
}
