//! Sessions as redb keeps them: by their id, and an index of each user's in order of age.

use companion_domain::{
    model::{Timestamp, UserId},
    port::StoreError,
    session::{Session, TokenHash},
};
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction};

type Id = &'static [u8; 32];
/// Whose it is, when it was made and when it was last used, in microseconds, and what its device called itself.
type Row = (u64, i64, i64, Option<String>);

/// A user, the moment at which a session of theirs was made, and its id.
type Age = (u64, i64, Id);

const SESSIONS: TableDefinition<'_, Id, Row> = TableDefinition::new("sessions");
/// The order of its keys is the order in which a user's sessions are listed.
const OF_USER: TableDefinition<'_, Age, ()> = TableDefinition::new("sessions of a user");

/// What went wrong, for whoever has to decide whether to try again.
pub(super) fn failed(error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        broken @ redb::Error::Corrupted(_) => StoreError::corrupt(broken),
        other => StoreError::unavailable(other),
    }
}

/// A row, whether it can be read or not.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) id: TokenHash,
    row: Row,
}

impl Stored {
    /// The session that it is, or why it is none. The only place where rows become sessions.
    pub(super) fn read(self) -> Result<Session, StoreError> {
        let (user, created, seen, user_agent) = self.row;
        Ok(Session {
            id: self.id,
            user: UserId::new(user).map_err(StoreError::corrupt)?,
            created_at: Timestamp::from_micros(created),
            last_seen_at: Timestamp::from_micros(seen),
            user_agent: user_agent.map(|agent| agent.parse()).transpose().map_err(StoreError::corrupt)?,
        })
    }

    /// When it was made and last used. Times can be compared even where nothing else makes sense.
    pub(super) fn times(&self) -> (Timestamp, Timestamp) {
        (Timestamp::from_micros(self.row.1), Timestamp::from_micros(self.row.2))
    }
}

/// Those that can be read.
pub(super) fn readable(stored: Vec<Stored>) -> Vec<Session> {
    stored.into_iter().filter_map(|one| one.read().ok()).collect()
}

/// Both tables, as of the beginning of a transaction.
pub(super) struct Tables<S, U> {
    sessions: S,
    of_user: U,
}

/// As a reader has them.
type Reading = Tables<ReadOnlyTable<Id, Row>, ReadOnlyTable<Age, ()>>;
/// As a writer has them.
type Writing<'t> = Tables<Table<'t, Id, Row>, Table<'t, Age, ()>>;

impl Reading {
    pub(super) fn of(transaction: &ReadTransaction) -> Result<Self, StoreError> {
        let sessions = transaction.open_table(SESSIONS).map_err(failed)?;
        Ok(Self { sessions, of_user: transaction.open_table(OF_USER).map_err(failed)? })
    }
}

impl<'t> Writing<'t> {
    /// They are made where there are none yet.
    pub(super) fn within(transaction: &'t WriteTransaction) -> Result<Self, StoreError> {
        let sessions = transaction.open_table(SESSIONS).map_err(failed)?;
        Ok(Self { sessions, of_user: transaction.open_table(OF_USER).map_err(failed)? })
    }
}

impl<S: ReadableTable<Id, Row>, U: ReadableTable<Age, ()>> Tables<S, U> {
    pub(super) fn find(&self, id: &TokenHash) -> Result<Option<Stored>, StoreError> {
        let found = self.sessions.get(id.as_bytes()).map_err(failed)?;
        Ok(found.map(|row| Stored { id: *id, row: row.value() }))
    }

    /// A user's sessions, the oldest first.
    pub(super) fn of_user(&self, user: UserId) -> Result<Vec<Stored>, StoreError> {
        let (first, last) = ((user.get(), i64::MIN, &[0; 32]), (user.get(), i64::MAX, &[0xFF; 32]));
        let mut stored = Vec::new();
        for entry in self.of_user.range(first..=last).map_err(failed)? {
            let (key, _) = entry.map_err(failed)?;
            stored.extend(self.find(&TokenHash::from_bytes(*key.value().2))?);
        }
        Ok(stored)
    }

    /// Sessions for which this holds: `limit` that can be read, and those that cannot and come before them.
    pub(super) fn which(
        &self,
        limit: u32,
        holds: impl Fn(Stored) -> bool,
    ) -> Result<Vec<Stored>, StoreError> {
        let (mut stored, mut readable) = (Vec::new(), 0);
        for entry in self.sessions.iter().map_err(failed)? {
            if readable >= limit {
                break;
            }
            let (id, row) = entry.map_err(failed)?;
            let one = Stored { id: TokenHash::from_bytes(*id.value()), row: row.value() };
            if holds(one.clone()) {
                readable += u32::from(one.clone().read().is_ok());
                stored.push(one);
            }
        }
        Ok(stored)
    }
}

impl Writing<'_> {
    /// Adds a session, or puts it in place of the one with its id.
    pub(super) fn put(&mut self, session: &Session) -> Result<(), StoreError> {
        if let Some(earlier) = self.find(&session.id)? {
            self.remove(earlier)?;
        }
        let (user, created) = (session.user.get(), session.created_at.micros());
        let user_agent = session.user_agent.as_ref().map(ToString::to_string);
        let row = (user, created, session.last_seen_at.micros(), user_agent);
        self.sessions.insert(session.id.as_bytes(), row).map_err(failed)?;
        self.of_user.insert((user, created, session.id.as_bytes()), ()).map_err(failed)?;
        Ok(())
    }

    /// Removes a session from both tables.
    pub(super) fn remove(&mut self, stored: Stored) -> Result<(), StoreError> {
        let (id, (user, created, ..)) = (stored.id.as_bytes(), stored.row);
        self.sessions.remove(id).map_err(failed)?;
        self.of_user.remove((user, created, id)).map_err(failed)?;
        Ok(())
    }

    /// Leaves a session without a user, for tests: as a row of another time might be.
    pub(super) fn damage(&mut self, id: &TokenHash) -> Result<(), StoreError> {
        if let Some(Stored { row: (_, created, seen, agent), .. }) = self.find(id)? {
            self.sessions.insert(id.as_bytes(), (0, created, seen, agent)).map_err(failed)?;
        }
        Ok(())
    }
}
