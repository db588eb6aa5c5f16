//! The thread that writes.

use super::{
    Message, Shared, Write,
    job::{Interruption, Job},
};
use crate::{connection::AnyConnection, error::Failure, sqlite::SqliteOptions, sqlite::fault, sync};
use companion_domain::{
    change::Revision,
    port::{StoreError, StoreErrorKind},
};
use diesel::{connection::SimpleConnection, result::Error as DatabaseError};
use std::sync::{Arc, atomic::Ordering::Relaxed};
use tokio::sync::mpsc;

pub(super) struct Thread {
    options: Arc<SqliteOptions>,
    shared: Arc<Shared>,
    /// Nothing after a transaction went wrong; the next one opens it anew.
    connection: Option<AnyConnection>,
}

impl Thread {
    pub(super) const fn new(
        options: Arc<SqliteOptions>,
        shared: Arc<Shared>,
        connection: AnyConnection,
    ) -> Self {
        Self { options, shared, connection: Some(connection) }
    }

    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        while let Some(first) = queue.blocking_recv() {
            let mut batch = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Job(job) => batch.push(job),
                    Message::Tidy => {}
                    Message::Close => queue.close(),
                }
                next = if batch.len() < self.options.gather.get() { queue.try_recv().ok() } else { None };
            }
            self.commit(batch);
        }
        if let Some(connection) = &mut self.connection {
            // A log that stays is replayed by the next start, so a failure here costs nothing.
            let _ = connection.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)");
        }
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Job>>) {
        let interruption = match self.attempt(&mut batch) {
            Ok(latest) => {
                self.announce(latest);
                None
            }
            Err(interruption) => {
                self.shared.failed_commits.fetch_add(1, Relaxed);
                Some(interruption)
            }
        };
        for job in batch {
            job.answer(interruption.as_ref());
        }
    }

    /// Runs all jobs in one transaction, and commits it.
    fn attempt(&mut self, batch: &mut [Box<dyn Job>]) -> Result<Option<Revision>, Interruption> {
        if self.shared.given_up.load(Relaxed) {
            return Err(Interruption {
                kind: StoreErrorKind::Unavailable,
                reason: "an earlier commit did not reach the disk, so nothing is written until a restart"
                    .to_owned(),
            });
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect_writer().map_err(|cause| Interruption {
                kind: StoreErrorKind::Unavailable,
                reason: cause.to_string(),
            })?,
        };
        if let Err(error) = connection.begin_writing() {
            // Most likely another process writes. The connection is none the worse, nor is what was staged on it.
            self.connection = Some(connection);
            return Err(interruption(error));
        }
        let (latest, writes) = self.run_all(&mut connection, batch).map_err(interruption)?;
        if let Err(error) = connection.commit() {
            self.consider_giving_up(&error);
            return Err(interruption(error));
        }
        self.connection = Some(connection);
        self.shared.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.shared.writes.fetch_add(writes, Relaxed);
        Ok(latest)
    }

    /// Runs the jobs one after the other. An error means that the transaction itself is gone.
    fn run_all(
        &self,
        connection: &mut AnyConnection,
        batch: &mut [Box<dyn Job>],
    ) -> Result<(Option<Revision>, u64), DatabaseError> {
        for sync in self.shared.take_abandoned() {
            sync::staging::clear(connection, sync)?;
        }
        let (mut latest, mut writes) = (None, 0);
        for job in batch.iter_mut().filter(|job| job.is_wanted()) {
            connection.begin_part()?;
            let mut write = Write::new(connection, self.options.history);
            let kept = job.run(&mut write);
            let revision = write.latest();
            if kept {
                connection.commit()?;
                latest = latest.max(revision);
                writes += 1;
            } else {
                connection.roll_back()?;
            }
        }
        Ok((latest, writes))
    }

    /// After a failed sync nobody knows what is on disk, and a later sync that succeeds proves nothing.
    fn consider_giving_up(&self, error: &DatabaseError) {
        let message = match error {
            DatabaseError::RollbackErrorOnCommit { commit_error, .. } => commit_error.to_string(),
            other => other.to_string(),
        };
        if fault::means_failed_sync(&message) {
            self.shared.given_up.store(true, Relaxed);
            tracing::error!(
                error = message,
                "a commit did not reach the disk: nothing more is written until this program is restarted"
            );
        }
    }

    fn announce(&self, latest: Option<Revision>) {
        if let Some(latest) = latest {
            self.shared.latest.send_if_modified(|known| {
                let newer = latest > *known;
                *known = latest.max(*known);
                newer
            });
        }
    }
}

fn interruption(error: DatabaseError) -> Interruption {
    let reason = error.to_string();
    let kind = match StoreError::from(Failure::from(error)).kind {
        // A conflict would be some job's own, and that fails alone.
        StoreErrorKind::Conflict | StoreErrorKind::Unavailable => StoreErrorKind::Unavailable,
        StoreErrorKind::Corrupt => StoreErrorKind::Corrupt,
    };
    Interruption { kind, reason }
}
