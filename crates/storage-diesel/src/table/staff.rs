//! Permissions granted to individual users.

use super::{
    column::{from_column, to_column},
    history::{Write, removed},
    row::{Row, StaffRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::staff,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{StaffPermission, StaffPermissions, UserId},
};
use diesel::{QueryDsl, QueryResult, RunQueryDsl};

impl From<(UserId, StaffPermissions)> for StaffRow {
    fn from((user, grants): (UserId, StaffPermissions)) -> Self {
        let names: Vec<_> = grants.iter().map(StaffPermission::as_str).collect();
        Self { user_id: to_column(user), grants: names.join(" ") }
    }
}

impl TryFrom<StaffRow> for (UserId, StaffPermissions) {
    type Error = RowError;

    fn try_from(row: StaffRow) -> Result<Self, RowError> {
        Ok((
            read!(row.user_id, from_column),
            read!(row.grants, |names| names
                .split_terminator(' ')
                .map(str::parse::<StaffPermission>)
                .collect()),
        ))
    }
}

pub(crate) fn grants(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> QueryResult<Option<StaffPermissions>> {
    let row = StaffRow::stored(db, (to_column(user),))?;
    let read: Option<(UserId, StaffPermissions)> = row.and_then(|row| unreadable.one(row));
    Ok(read.map(|(_, grants)| grants))
}

pub(crate) fn put(write: &mut Write<'_>, user: UserId, grants: StaffPermissions) -> Result<Tally, WorkError> {
    let tally = StaffRow::from((user, grants)).put(write.db)?;
    Ok(write.noted(tally, || Subject::Staff(user)))
}

/// Removes all permissions of a user.
pub(crate) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let gone = diesel::delete(staff::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Staff(user)))
}
