//! The thread that writes.

use super::{
    Desk, Message, Shared, Write,
    job::{Interruption, Job},
};
use crate::{connection::AnyConnection, database::Limits, error::Failure};
use companion_domain::{
    change::Revision,
    port::{StoreError, StoreErrorKind},
};
use diesel::result::Error as DatabaseError;
use std::{
    io,
    sync::{Arc, PoisonError, atomic::Ordering::Relaxed},
    time::Instant,
};

pub(super) struct Thread {
    desk: Arc<Desk>,
    limits: Limits,
    shared: Arc<Shared>,
    /// Which one it is, of those that have had the desk.
    number: u64,
    /// Nothing after a transaction went wrong; the next one opens it anew.
    connection: Option<AnyConnection>,
}

impl Thread {
    pub(super) fn start(
        desk: &Arc<Desk>,
        shared: &Arc<Shared>,
        number: u64,
        connection: Option<AnyConnection>,
    ) -> io::Result<()> {
        let (desk, shared) = (Arc::clone(desk), Arc::clone(shared));
        let thread = Self { limits: desk.database.limits(), desk, shared, number, connection };
        std::thread::Builder::new().name("storage-writer".to_owned()).spawn(move || thread.run())?;
        Ok(())
    }

    /// Works until the queue is closed and empty, or another thread has taken over.
    fn run(mut self) {
        while let Some(batch) = self.next_batch() {
            self.holds_post(Some(Instant::now()));
            self.commit(batch);
            if !self.holds_post(None) {
                return;
            }
        }
        if let Some(mut connection) = self.connection.take() {
            connection.finish();
        }
        self.desk.post().alive = None;
    }

    /// Everything that is waiting, up to a limit; nothing at the end.
    fn next_batch(&self) -> Option<Vec<Box<dyn Job>>> {
        let mut queue = self.desk.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Vec::new();
        let mut next = Some(queue.blocking_recv()?);
        while let Some(message) = next {
            match message {
                Message::Job(job) => batch.push(job),
                #[cfg(feature = "sqlite")]
                Message::Tidy => {}
                Message::Close => queue.close(),
            }
            next = if batch.len() < self.limits.gather.get() { queue.try_recv().ok() } else { None };
        }
        Some(batch)
    }

    /// Notes since when a transaction has been going on. False where another thread has taken over.
    fn holds_post(&self, busy: Option<Instant>) -> bool {
        let mut post = self.desk.post();
        let holds = post.holder == self.number;
        if holds {
            post.busy = busy;
        }
        holds
    }

    fn commit(&mut self, mut batch: Vec<Box<dyn Job>>) {
        let interruption = match self.attempt(&mut batch) {
            Ok(latest) => {
                if let Some(latest) = latest {
                    self.shared.announce(latest);
                }
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
                certain: true,
            });
        }
        self.check_file(true)?;
        let mut connection = self.begin()?;
        let (latest, writes) = self.run_all(&mut connection, batch).map_err(interruption)?;
        if let Some(latest) = latest {
            connection.announce(latest).map_err(interruption)?;
        }
        if let Err(lost) = self.check_file(true) {
            if connection.roll_back().is_ok() {
                self.connection = Some(connection);
            }
            return Err(lost);
        }
        if let Err(error) = connection.commit() {
            // Neither a server that is gone nor a disk that failed says what it has kept.
            let certain = !self.gives_up(&error) && connection.outlives_a_failed_beginning();
            return Err(Interruption { certain, ..interruption(error) });
        }
        self.connection = Some(connection);
        self.check_file(false)?;
        self.shared.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.shared.writes.fetch_add(writes, Relaxed);
        Ok(latest)
    }

    /// A connection with an open transaction. One that was lost since it was last used is replaced, which nobody
    /// notices: nothing has been done yet.
    fn begin(&mut self) -> Result<AnyConnection, Interruption> {
        if let Some(mut connection) = self.connection.take() {
            match connection.begin_writing() {
                Ok(()) => return Ok(connection),
                Err(error) => {
                    if connection.outlives_a_failed_beginning() {
                        // Most likely another process writes.
                        self.connection = Some(connection);
                        return Err(interruption(error));
                    }
                    if !connection.is_gone() {
                        return Err(interruption(error));
                    }
                }
            }
        }
        let mut connection = self.desk.database.connect_writer().map_err(|cause| Interruption {
            kind: StoreErrorKind::Unavailable,
            reason: cause.to_string(),
            certain: true,
        })?;
        connection.begin_writing().map_err(interruption)?;
        Ok(connection)
    }

    /// Runs the jobs one after the other. An error means that the transaction itself is gone.
    fn run_all(
        &self,
        connection: &mut AnyConnection,
        batch: &mut [Box<dyn Job>],
    ) -> Result<(Option<Revision>, u64), DatabaseError> {
        #[cfg(feature = "sqlite")]
        for sync in self.shared.take_abandoned() {
            crate::sync::single::clear(connection, sync)?;
        }
        let (mut latest, mut writes) = (None, 0);
        for job in batch.iter_mut().filter(|job| job.is_wanted()) {
            connection.begin_part()?;
            let mut write = Write::new(connection, self.limits.history);
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

    /// What is written to a file that is not at its path any more is not found again.
    fn check_file(&self, certain: bool) -> Result<(), Interruption> {
        let kind = StoreErrorKind::Unavailable;
        self.desk.database.check_file().map_err(|reason| Interruption { kind, reason, certain })
    }

    /// After a failed sync nobody knows what is on disk, and a later sync that succeeds proves nothing.
    fn gives_up(&self, error: &DatabaseError) -> bool {
        let message = match error {
            DatabaseError::RollbackErrorOnCommit { commit_error, .. } => commit_error.to_string(),
            other => other.to_string(),
        };
        let failed_sync = self.desk.database.means_failed_sync(&message);
        if failed_sync {
            self.shared.given_up.store(true, Relaxed);
            tracing::error!(
                error = message,
                "a commit did not reach the disk: nothing more is written until this program is restarted"
            );
        }
        failed_sync
    }
}

fn interruption(error: DatabaseError) -> Interruption {
    let reason = error.to_string();
    let kind = match StoreError::from(Failure::from(error)).kind {
        // A conflict would be some job's own, and that fails alone.
        StoreErrorKind::Conflict | StoreErrorKind::Unavailable => StoreErrorKind::Unavailable,
        StoreErrorKind::Corrupt => StoreErrorKind::Corrupt,
    };
    Interruption { kind, reason, certain: true }
}
