//! The thread that writes.

use super::{
    Desk, Message, Shared, Write, commit,
    job::{Interruption, Job},
};
use crate::{connection::AnyConnection, database::Limits};
use companion_domain::{change::Revision, port::StoreErrorKind};
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

/// What is done next: jobs that share a transaction, and then work on another connection.
struct Next {
    batch: Vec<Box<dyn Job>>,
    apart: Option<Box<dyn FnOnce() + Send>>,
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
        while let Some(Next { batch, apart }) = self.next() {
            self.holds_post(Some(Instant::now()));
            self.commit(batch);
            if !self.holds_post(None) {
                return;
            }
            if let Some(work) = apart {
                work();
            }
        }
        if let Some(mut connection) = self.connection.take() {
            connection.finish();
        }
        self.desk.post().alive = None;
    }

    /// Everything that is waiting, up to a limit; nothing at the end.
    fn next(&self) -> Option<Next> {
        let mut queue = self.desk.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Vec::new();
        let mut next = Some(queue.blocking_recv()?);
        while let Some(message) = next {
            match message {
                Message::Job(job) if job.is_wanted() => batch.push(job),
                Message::Job(_) => {}
                Message::Apart(work) => return Some(Next { batch, apart: Some(work) }),
                Message::Close => queue.close(),
            }
            next = if batch.len() < self.limits.gather.get() { queue.try_recv().ok() } else { None };
        }
        Some(Next { batch, apart: None })
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
        if batch.is_empty() {
            return;
        }
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
        if let Some(refusal) = self.shared.refusal() {
            return Err(refusal);
        }
        commit::check_file(&self.desk.database, true)?;
        let mut connection = self.begin()?;
        let (latest, writes) = self.run_all(&mut connection, batch)?;
        let committed = commit::commit(&mut connection, latest, &self.desk.database, &self.shared);
        // The connection to a file that is not at its path any more is the last way to what it holds.
        if committed.is_err() && !self.desk.database.has_lost_file() {
            return committed.map(|()| None);
        }
        self.connection = Some(connection);
        committed?;
        self.shared.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.shared.writes.fetch_add(writes, Relaxed);
        Ok(latest)
    }

    /// A connection with an open transaction. One that was lost since it was last used is replaced, which nobody
    /// notices: nothing has been done yet.
    fn begin(&mut self) -> Result<AnyConnection, Interruption> {
        if let Some(mut connection) = self.connection.take() {
            match connection.begin_writing(self.desk.access) {
                Ok(()) => return Ok(connection),
                Err(error) => {
                    if connection.outlives_a_failed_beginning() {
                        // Most likely another process writes.
                        self.connection = Some(connection);
                        return Err(error.into());
                    }
                    if !connection.is_gone() {
                        return Err(error.into());
                    }
                }
            }
        }
        let mut connection = self.desk.database.connect_writer().map_err(|cause| Interruption {
            kind: StoreErrorKind::Unavailable,
            reason: cause.to_string(),
            certain: true,
        })?;
        connection.begin_writing(self.desk.access)?;
        Ok(connection)
    }

    /// Runs the jobs one after the other. An error means that the transaction itself is gone.
    fn run_all(
        &self,
        connection: &mut AnyConnection,
        batch: &mut [Box<dyn Job>],
    ) -> Result<(Option<Revision>, u64), DatabaseError> {
        let (mut latest, mut writes) = (None, 0);
        for job in batch.iter_mut().filter(|job| job.begin()) {
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
}
