//! Permissions granted by name.

use super::{
    column::{from_column, to_column},
    history::{Write, removed},
    row::{Row, StaffRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{Failure, RowError},
    schema::staff,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{StaffGrant, StaffGrants, UserId},
};
use diesel::{QueryDsl, QueryResult, RunQueryDsl};

impl From<(UserId, StaffGrants)> for StaffRow {
    fn from((user, grants): (UserId, StaffGrants)) -> Self {
        let names: Vec<_> = grants.iter().map(StaffGrant::as_str).collect();
        Self { user_id: to_column(user), grants: names.join(" ") }
    }
}

impl TryFrom<StaffRow> for (UserId, StaffGrants) {
    type Error = RowError;

    fn try_from(row: StaffRow) -> Result<Self, RowError> {
        Ok((
            read!(row.user_id, from_column),
            read!(row.grants, |names| names.split_terminator(' ').map(str::parse::<StaffGrant>).collect()),
        ))
    }
}

pub(crate) fn grants(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> QueryResult<Option<StaffGrants>> {
    let row = StaffRow::stored(db, (to_column(user),))?;
    let read: Option<(UserId, StaffGrants)> = row.and_then(|row| unreadable.one(row));
    Ok(read.map(|(_, grants)| grants))
}

pub(crate) fn put(write: &mut Write<'_>, user: UserId, grants: StaffGrants) -> Result<Tally, Failure> {
    let tally = StaffRow::from((user, grants)).put(write.db)?;
    Ok(write.noted(tally, || Subject::Staff(user)))
}

/// Takes everything back from a user.
pub(crate) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    let gone = diesel::delete(staff::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Staff(user)))
}
