//! Sessions in redb, an embedded store: by id, with an index of each user's sessions by age.

use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase as _, ReadableTable, Table, TableDefinition,
    WriteTransaction,
};
use std::{num::NonZeroU32, path::Path, sync::Arc};

type Id = &'static [u8; 32];
/// User, creation and last use in microseconds, and the user agent.
type Row = (u64, i64, i64, Option<String>);

/// User, creation time and id of a session.
type Age = (u64, i64, Id);

const SESSIONS: TableDefinition<'_, Id, Row> = TableDefinition::new("sessions");
/// Its key order is the order in which a user's sessions are listed.
const OF_USER: TableDefinition<'_, Age, ()> = TableDefinition::new("sessions of a user");

/// Maps an error of redb to one that says whether a retry may help.
fn failed(error: impl Into<redb::Error>) -> StoreError {
    match error.into() {
        broken @ redb::Error::Corrupted(_) => StoreError::corrupt(broken),
        other => StoreError::unavailable(other),
    }
}

/// A row, readable or not.
#[derive(Clone)]
struct Stored {
    id: TokenHash,
    row: Row,
}

impl Stored {
    /// Converts the row to a session. Rows become sessions only here.
    fn read(self) -> Result<Session, StoreError> {
        let (user, created, seen, user_agent) = self.row;
        Ok(Session {
            id: self.id,
            user: UserId::new(user).map_err(StoreError::corrupt)?,
            created_at: Timestamp::from_micros(created),
            last_seen_at: Timestamp::from_micros(seen),
            user_agent: user_agent.map(|agent| agent.parse()).transpose().map_err(StoreError::corrupt)?,
        })
    }

    /// Returns the creation time and the last use, which can be compared even if the rest is unreadable.
    fn times(&self) -> (Timestamp, Timestamp) {
        (Timestamp::from_micros(self.row.1), Timestamp::from_micros(self.row.2))
    }
}

/// Returns the readable ones.
fn readable(stored: Vec<Stored>) -> Vec<Session> {
    stored.into_iter().filter_map(|one| one.read().ok()).collect()
}

/// Both tables, as of the start of a transaction.
struct Tables<S, U> {
    sessions: S,
    of_user: U,
}

/// For reading.
type Reading = Tables<ReadOnlyTable<Id, Row>, ReadOnlyTable<Age, ()>>;
/// For writing.
type Writing<'t> = Tables<Table<'t, Id, Row>, Table<'t, Age, ()>>;

impl Reading {
    fn of(transaction: &ReadTransaction) -> Result<Self, StoreError> {
        let sessions = transaction.open_table(SESSIONS).map_err(failed)?;
        Ok(Self { sessions, of_user: transaction.open_table(OF_USER).map_err(failed)? })
    }
}

impl<'t> Writing<'t> {
    /// Opens the tables, and creates missing ones.
    fn within(transaction: &'t WriteTransaction) -> Result<Self, StoreError> {
        let sessions = transaction.open_table(SESSIONS).map_err(failed)?;
        Ok(Self { sessions, of_user: transaction.open_table(OF_USER).map_err(failed)? })
    }
}

impl<S: ReadableTable<Id, Row>, U: ReadableTable<Age, ()>> Tables<S, U> {
    fn find(&self, id: &TokenHash) -> Result<Option<Stored>, StoreError> {
        let found = self.sessions.get(id.as_bytes()).map_err(failed)?;
        Ok(found.map(|row| Stored { id: *id, row: row.value() }))
    }

    /// Returns a user's sessions, oldest first.
    fn of_user(&self, user: UserId) -> Result<Vec<Stored>, StoreError> {
        let (first, last) = ((user.get(), i64::MIN, &[0; 32]), (user.get(), i64::MAX, &[0xFF; 32]));
        let mut stored = Vec::new();
        for entry in self.of_user.range(first..=last).map_err(failed)? {
            let (key, _) = entry.map_err(failed)?;
            stored.extend(self.find(&TokenHash::from_bytes(*key.value().2))?);
        }
        Ok(stored)
    }

    /// Returns the sessions that satisfy the predicate: up to `limit` readable ones, and the unreadable ones before
    /// them.
    fn which(&self, limit: u32, holds: impl Fn(Stored) -> bool) -> Result<Vec<Stored>, StoreError> {
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
    /// Adds a session, or replaces the one with its id.
    fn put(&mut self, session: &Session) -> Result<(), StoreError> {
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
    fn remove(&mut self, stored: Stored) -> Result<(), StoreError> {
        let (id, (user, created, ..)) = (stored.id.as_bytes(), stored.row);
        self.sessions.remove(id).map_err(failed)?;
        self.of_user.remove((user, created, id)).map_err(failed)?;
        Ok(())
    }

    /// Makes a session unreadable for tests, by removing its user.
    fn damage(&mut self, id: &TokenHash) -> Result<(), StoreError> {
        if let Some(Stored { row: (_, created, seen, agent), .. }) = self.find(id)? {
            self.sessions.insert(id.as_bytes(), (0, created, seen, agent)).map_err(failed)?;
        }
        Ok(())
    }
}

/// Sessions in a file. Clones share it.
#[derive(Clone)]
pub(crate) struct RedbSessions {
    database: Arc<Database>,
}

impl RedbSessions {
    /// Opens the file, or creates it. Blocks, so call it before the service starts.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreError> {
        let database = Database::create(file).map_err(failed)?;
        // Readers find the tables even before the first write.
        let transaction = database.begin_write().map_err(failed)?;
        Tables::within(&transaction)?;
        transaction.commit().map_err(failed)?;
        Ok(Self { database: Arc::new(database) })
    }

    /// Runs blocking work on the blocking pool. It runs to completion even if the caller stops waiting.
    async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = Arc::clone(&self.database);
        tokio::task::spawn_blocking(move || work(&database)).await.map_err(StoreError::unavailable)?
    }

    /// Runs all changes of one method in one transaction, which is dropped on an error.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.elsewhere(move |database| {
            let transaction = database.begin_write().map_err(failed)?;
            let outcome = work(&transaction)?;
            transaction.commit().map_err(failed)?;
            Ok(outcome)
        })
        .await
    }

    /// Ends the sessions that `which` returns, and returns the readable ones.
    async fn end(
        &self,
        which: impl FnOnce(&WriteTransaction) -> Result<Vec<Stored>, StoreError> + Send + 'static,
    ) -> Result<Vec<Session>, StoreError> {
        self.write(move |transaction| {
            let ending = which(transaction)?;
            let mut tables = Tables::within(transaction)?;
            ending.iter().try_for_each(|stored| tables.remove(stored.clone()))?;
            Ok(readable(ending))
        })
        .await
    }

    /// Makes a session unreadable, for tests.
    pub(super) async fn damage(&self, id: TokenHash) -> Result<(), StoreError> {
        self.write(move |transaction| Tables::within(transaction)?.damage(&id)).await
    }

    /// Blocks all other writers, for tests.
    pub(super) async fn write_lock(&self) -> Result<WriteTransaction, StoreError> {
        self.elsewhere(|database| database.begin_write().map_err(failed)).await
    }
}

/// Whether a session has ended, judged only by its times.
fn over(stored: &Stored, ended: Cutoffs) -> bool {
    let (created, seen) = stored.times();
    created <= ended.created || seen <= ended.seen
}

#[async_trait]
impl SessionStore for RedbSessions {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let new = session.clone();
        self.write(move |transaction| {
            let mut tables = Tables::within(transaction)?;
            if tables.find(&new.id)?.is_some() {
                return Err(StoreError::conflict("there is a session with this id"));
            }
            // Counted and evicted in the transaction that adds the session, so that no other writer interferes.
            let gone = exceeding(readable(tables.of_user(new.user)?), cap, ended);
            for old in &gone {
                if let Some(stored) = tables.find(&old.id)? {
                    tables.remove(stored)?;
                }
            }
            tables.put(&new)?;
            Ok(gone)
        })
        .await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.elsewhere(move |database| {
            let transaction = database.begin_read().map_err(failed)?;
            Tables::of(&transaction)?.find(&id)?.map(Stored::read).transpose()
        })
        .await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        let seen = seen.as_slice().to_vec();
        self.write(move |transaction| {
            let mut tables = Tables::within(transaction)?;
            for (id, time) in seen {
                let found = tables.find(&id)?.and_then(|stored| stored.read().ok());
                if let Some(session) = found.filter(|session| session.last_seen_at < time) {
                    tables.put(&Session { last_seen_at: time, ..session })?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.elsewhere(move |database| {
            let transaction = database.begin_read().map_err(failed)?;
            Ok(readable(Tables::of(&transaction)?.of_user(user)?))
        })
        .await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        let ended =
            self.end(move |transaction| Ok(Tables::within(transaction)?.find(&id)?.into_iter().collect()));
        Ok(ended.await?.pop())
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let id = *id;
        let expired = self.end(move |transaction| {
            let found = Tables::within(transaction)?.find(&id)?;
            Ok(found.filter(|stored| over(stored, ended)).into_iter().collect())
        });
        Ok(expired.await?.pop())
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.end(move |transaction| Tables::within(transaction)?.of_user(user)).await
    }

    /// Scans all sessions. It runs in the background; an index by last use would cost a write per touch.
    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        self.end(move |transaction| {
            Tables::within(transaction)?.which(limit.get(), |stored| over(&stored, ended))
        })
        .await
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        let ahead = move |time: Timestamp| time > now.horizon();
        self.write(move |transaction| {
            let mut tables = Tables::within(transaction)?;
            let far = |stored: Stored| {
                let (created, seen) = stored.times();
                stored.read().is_ok() && (ahead(created) || ahead(seen))
            };
            let sessions = readable(tables.which(limit.get(), far)?);
            let back = |time| if ahead(time) { now } else { time };
            for session in &sessions {
                let (created_at, last_seen_at) = (back(session.created_at), back(session.last_seen_at));
                tables.put(&Session { created_at, last_seen_at, ..session.clone() })?;
            }
            Ok(sessions.len() as u64)
        })
        .await
    }
}
