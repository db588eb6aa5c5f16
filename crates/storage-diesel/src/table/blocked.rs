//! Blocked users. A user is blocked if there is a row.

use super::{
    column::{from_column, to_column},
    history::{Write, removed},
    row::{BlockedRow, Row, read},
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::blocked,
};
use companion_domain::{
    change::{Subject, Tally},
    model::UserId,
};
use diesel::{OptionalExtension, QueryDsl, QueryResult, RunQueryDsl};

impl From<UserId> for BlockedRow {
    fn from(user: UserId) -> Self {
        Self { user_id: to_column(user) }
    }
}

impl TryFrom<BlockedRow> for UserId {
    type Error = RowError;

    fn try_from(row: BlockedRow) -> Result<Self, RowError> {
        Ok(read!(row.user_id, from_column))
    }
}

pub(crate) fn is_blocked(db: &mut AnyConnection, user: UserId) -> QueryResult<bool> {
    let row: QueryResult<i64> = blocked::table.find(to_column(user)).select(blocked::user_id).get_result(db);
    Ok(row.optional()?.is_some())
}

pub(crate) fn put(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let tally = BlockedRow::from(user).put(write.db)?;
    Ok(write.noted(tally, || Subject::Blocked(user)))
}

pub(crate) fn remove(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let gone = diesel::delete(blocked::table.find(to_column(user))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Blocked(user)))
}
