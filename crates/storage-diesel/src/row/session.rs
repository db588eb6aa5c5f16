//! Sessions as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::sessions};
use companion_domain::{
    model::Timestamp,
    session::{Session, TokenHash},
};
use diesel::{Insertable, Queryable, Selectable};

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = sessions)]
pub(crate) struct SessionRow {
    pub(crate) id: Vec<u8>,
    pub(crate) user_id: i64,
    pub(crate) created_at: i64,
    pub(crate) last_seen_at: i64,
}

impl From<&Session> for SessionRow {
    fn from(session: &Session) -> Self {
        Self {
            id: session.id.as_bytes().to_vec(),
            user_id: to_column(session.user),
            created_at: session.created_at.micros(),
            last_seen_at: session.last_seen_at.micros(),
        }
    }
}

impl Keyed for SessionRow {
    fn key(&self) -> Key {
        Key::Bytes(self.id.clone())
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = RowError;

    fn try_from(row: SessionRow) -> Result<Self, RowError> {
        Ok(Self {
            id: id_from_bytes(&row.id)?,
            user: from_column(row.user_id, "sessions", "user_id")?,
            created_at: Timestamp::from_micros(row.created_at),
            last_seen_at: Timestamp::from_micros(row.last_seen_at),
        })
    }
}

/// The id that a column holds.
pub(crate) fn id_from_bytes(bytes: &[u8]) -> Result<TokenHash, RowError> {
    <[u8; 32]>::try_from(bytes).map(TokenHash::from_bytes).map_err(makes_no_sense("sessions", "id"))
}
