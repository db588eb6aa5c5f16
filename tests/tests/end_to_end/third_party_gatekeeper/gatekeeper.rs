//! Blocked users and used sign-in codes, in one redb file.

use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp, UserId},
    port::{BlockList, SpentCodes, StoreError},
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use std::{path::Path, sync::Arc};

/// Blocked users.
const BLOCKED: TableDefinition<'_, u64, ()> = TableDefinition::new("blocked");
/// Until when a code counts as used, in microseconds.
const MARKS: TableDefinition<'_, &[u8; 32], i64> = TableDefinition::new("marks");
/// The same marks by their end, to find expired ones.
const ENDS: TableDefinition<'_, (i64, &[u8; 32]), ()> = TableDefinition::new("ends");
/// How many expired marks each new one removes. There is no other call to do it.
const TIDIED: usize = 16;

/// A file that one process opens once. Clones are further handles.
#[derive(Clone)]
pub struct Gatekeeper {
    database: Arc<Database>,
}

impl Gatekeeper {
    /// Opens or creates the file. It blocks, so call it before the service starts.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let open = || -> Result<Database, redb::Error> {
            let database = Database::create(file)?;
            let transaction = database.begin_write()?;
            transaction.open_table(BLOCKED)?;
            transaction.open_table(MARKS)?;
            transaction.open_table(ENDS)?;
            transaction.commit()?;
            Ok(database)
        };
        Ok(Self { database: Arc::new(open().map_err(failed)?) })
    }

    /// Blocks or unblocks a user. The operator's own tool calls it, because the feed does not write to external ports.
    pub async fn set_blocked(&self, user: UserId, blocked: bool) -> Result<(), StoreError> {
        let written = self.write(move |transaction| {
            let mut table = transaction.open_table(BLOCKED)?;
            if blocked {
                table.insert(user.get(), ())?;
            } else {
                table.remove(user.get())?;
            }
            Ok(Some(()))
        });
        written.await.map(drop)
    }

    /// Runs blocking work on a thread of its own. It completes even if the caller is dropped.
    async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = Arc::clone(&self.database);
        let done = tokio::task::spawn_blocking(move || work(&database)).await;
        done.map_err(StoreError::unavailable)?.map_err(failed)
    }

    /// Runs one transaction. It is rolled back if the work returns `None`.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<Option<T>, redb::Error> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        self.elsewhere(move |database| {
            let transaction = database.begin_write()?;
            let outcome = work(&transaction)?;
            if outcome.is_some() {
                transaction.commit()?;
            }
            Ok(outcome)
        })
        .await
    }
}

fn failed(error: redb::Error) -> StoreError {
    match error {
        redb::Error::Corrupted(_) => StoreError::corrupt(error),
        _ => StoreError::unavailable(error),
    }
}

#[async_trait]
impl BlockList for Gatekeeper {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.elsewhere(move |database| {
            Ok(database.begin_read()?.open_table(BLOCKED)?.get(user.get())?.is_some())
        })
        .await
    }
}

#[async_trait]
impl SpentCodes for Gatekeeper {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let code = *code.as_bytes();
        let written = self.write(move |transaction| {
            let mut marks = transaction.open_table(MARKS)?;
            let mut ends = transaction.open_table(ENDS)?;
            let old = marks.get(&code)?.map(|end| end.value());
            if let Some(end) = old {
                if now.micros() < end && end <= until.horizon().micros() {
                    return Ok(None);
                }
                ends.remove((end, &code))?;
            }
            marks.insert(&code, until.micros())?;
            ends.insert((until.micros(), &code), ())?;
            for _ in 0..TIDIED {
                let Some((key, _)) = ends.first()? else { break };
                let (end, over) = (key.value().0, *key.value().1);
                drop(key);
                if end > now.micros() {
                    break;
                }
                ends.remove((end, &over))?;
                marks.remove(&over)?;
            }
            Ok(Some(()))
        });
        Ok(written.await?.is_some())
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        let code = *code.as_bytes();
        let written = self.write(move |transaction| {
            let end = transaction.open_table(MARKS)?.remove(&code)?.map(|end| end.value());
            let Some(end) = end else { return Ok(None) };
            transaction.open_table(ENDS)?.remove((end, &code))?;
            Ok(Some(()))
        });
        written.await.map(drop)
    }
}

#[cfg(test)]
mod conformance {
    use super::Gatekeeper;
    use companion_domain::port::SpentCodes;
    use companion_testkit::conformance::{Fresh, Gate};
    use std::sync::Arc;

    companion_testkit::spent_codes_conformance! {
        in_a_temporary_folder()
    }

    /// redb lets a process open a file once, so both handles share the open database.
    fn in_a_temporary_folder() -> Fresh<dyn SpentCodes> {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Gatekeeper::open(&folder.path().join("gatekeeper.redb")).unwrap();
        let (one, other) = (Arc::new(keeper.clone()), Arc::new(keeper.clone()));
        Fresh::<dyn SpentCodes>::new(one).with_other(other).keeping(folder).gating(move || {
            let keeper = keeper.clone();
            async move {
                let lock = keeper.elsewhere(|database| Ok(database.begin_write()?)).await;
                Box::new(lock.unwrap()) as Gate
            }
        })
    }
}
