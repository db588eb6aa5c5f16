//! Sessions in redb, an embedded store.

use super::tables::{Stored, Tables, failed, readable};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use redb::{Database, ReadableDatabase as _, WriteTransaction};
use std::{num::NonZeroU32, path::Path, sync::Arc};

/// Sessions in a file. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct RedbSessions {
    database: Arc<Database>,
}

impl RedbSessions {
    /// The sessions in this file, which is made where there is none. It blocks, so it belongs before the service starts.
    pub(crate) fn open(file: &Path) -> Result<Self, StoreError> {
        let database = Database::create(file).map_err(failed)?;
        // Whoever reads finds the tables, also before the first write.
        let transaction = database.begin_write().map_err(failed)?;
        Tables::within(&transaction)?;
        transaction.commit().map_err(failed)?;
        Ok(Self { database: Arc::new(database) })
    }

    /// Work on the file blocks, so it is done where blocking is fine. It goes on to its end when nobody waits any more.
    async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = Arc::clone(&self.database);
        tokio::task::spawn_blocking(move || work(&database)).await.map_err(StoreError::unavailable)?
    }

    /// Everything that one method changes is one transaction. After an error it is dropped, and with it every change.
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

    /// Ends those that `which` finds, and returns the ones that could be read.
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

    /// Leaves a session without a user, for tests.
    pub(super) async fn damage(&self, id: TokenHash) -> Result<(), StoreError> {
        self.write(move |transaction| Tables::within(transaction)?.damage(&id)).await
    }

    /// Keeps everyone else from writing, for tests.
    pub(super) async fn write_lock(&self) -> Result<WriteTransaction, StoreError> {
        self.elsewhere(|database| database.begin_write().map_err(failed)).await
    }
}

/// Whether a session has ended, of which perhaps only the times make sense.
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
            // Counted and made room for in the transaction that adds it, so that nobody comes in between.
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

    /// It looks at every session. That is for the background; an index by last use would have to be written by each touch.
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
