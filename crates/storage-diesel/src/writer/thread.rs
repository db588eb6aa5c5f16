//! The thread that writes.

use super::{
    Desk, Message, Shared, Write, commit,
    job::{Interruption, Job, Ran},
};
use crate::{connection::AnyConnection, limits::Limits};
use companion_domain::{change::Revision, port::StoreErrorKind};
use diesel::{r2d2::R2D2Connection, result::Error as DatabaseError};
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
    /// Whether commits on that connection make checkpoints.
    checkpointing: bool,
}

/// What is done next: jobs that share a transaction, and then work on another connection.
struct Next {
    batch: Vec<Box<dyn Job>>,
    apart: Option<Box<dyn FnOnce() + Send>>,
}

/// What the jobs of a transaction have done.
struct Done {
    latest: Option<Revision>,
    writes: u64,
    /// What the last of them came to that says anything about the database.
    came_to: Option<Result<(), String>>,
}

impl Thread {
    pub(super) fn start(
        desk: &Arc<Desk>,
        shared: &Arc<Shared>,
        number: u64,
        connection: Option<AnyConnection>,
    ) -> io::Result<()> {
        let (desk, shared) = (Arc::clone(desk), Arc::clone(shared));
        let thread =
            Self { limits: desk.database.limits(), desk, shared, number, connection, checkpointing: true };
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
                    self.shared.latest.advance(latest);
                }
                None
            }
            Err(interruption) => {
                self.shared.interrupted(&interruption);
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
        self.leave_checkpoints_to_others(&mut connection)?;
        let Done { latest, writes, came_to } = self.run_all(&mut connection, batch)?;
        let committed = commit::commit(&mut connection, latest, &self.desk.database, &self.shared);
        // The connection to a file that is not at its path any more is the last way to what it holds.
        if committed.is_err() && !self.desk.database.has_lost_file() {
            return committed.map(|()| None);
        }
        self.connection = Some(connection);
        committed?;
        self.shared.commits.fetch_add(u64::from(writes > 0), Relaxed);
        self.shared.writes.fetch_add(writes, Relaxed);
        if let Some(came_to) = came_to {
            self.shared.condition.note(came_to);
        }
        Ok(latest)
    }

    /// A connection with an open transaction. One that was lost since it was last used is replaced, which nobody
    /// notices: nothing has been done yet.
    fn begin(&mut self) -> Result<AnyConnection, Interruption> {
        if let Some(mut connection) = self.connection.take() {
            match connection.begin_writing(self.desk.access) {
                Ok(()) => return Ok(connection),
                Err(error) => {
                    if connection.survives_failed_begin() {
                        // Most likely another process writes.
                        self.connection = Some(connection);
                        return Err(error.into());
                    }
                    if !connection.is_broken() {
                        return Err(error.into());
                    }
                }
            }
        }
        let mut connection = self.desk.database.connect_writer().map_err(|cause| Interruption {
            kind: StoreErrorKind::Unavailable,
            passing: false,
            reason: cause.to_string(),
            certain: true,
        })?;
        connection.begin_writing(self.desk.access)?;
        self.checkpointing = true;
        Ok(connection)
    }

    /// While someone else makes a checkpoint, this thread does not.
    fn leave_checkpoints_to_others(&mut self, connection: &mut AnyConnection) -> Result<(), DatabaseError> {
        let checkpointing = self.shared.checkpointers.load(Relaxed) == 0;
        if checkpointing != self.checkpointing {
            connection.set_auto_checkpoint(checkpointing)?;
            self.checkpointing = checkpointing;
        }
        Ok(())
    }

    /// Runs the jobs one after the other. An error means that the transaction itself is gone.
    fn run_all(
        &self,
        connection: &mut AnyConnection,
        batch: &mut [Box<dyn Job>],
    ) -> Result<Done, Interruption> {
        let (mut latest, mut writes, mut came_to) = (None, 0, None);
        for job in batch.iter_mut().filter(|job| job.begin()) {
            connection.begin_savepoint()?;
            let mut write = Write::new(connection, self.limits.history);
            let ran = job.run(&mut write);
            let revision = write.latest();
            match ran {
                Ran::Kept => {
                    connection.commit()?;
                    latest = latest.max(revision);
                    writes += 1;
                    came_to = Some(Ok(()));
                }
                Ran::Undone => connection.roll_back()?,
                Ran::Failed(reason) => {
                    // On a full disk there may be nothing left to roll back to. That is not what went wrong first.
                    let told = |error| Interruption { reason: reason.clone(), ..Interruption::from(error) };
                    connection.roll_back().map_err(told)?;
                    came_to = Some(Err(reason));
                }
            }
        }
        Ok(Done { latest, writes, came_to })
    }
}
