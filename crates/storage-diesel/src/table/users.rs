//! Blocked users, and permissions granted to individual users. A user is blocked if there is a row.

use super::{
    column::{from_column, to_column},
    row::{BlockedRow, Columns as _, Row, StaffRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
};
use companion_domain::{
    change::Key,
    model::{StaffPermission, StaffPermissions, UserId},
};

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

pub(crate) fn is_blocked(db: &mut AnyConnection, user: UserId) -> Result<bool, WorkError> {
    Ok(BlockedRow::stored(db, &Key::Blocked(user))?.is_some())
}

pub(crate) fn staff_grants(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> Result<StaffPermissions, WorkError> {
    Ok(StaffRow::find(db, &Key::Staff(user), unreadable)?.map(|(_, grants)| grants).unwrap_or_default())
}
