//! Writes: jobs for a thread that commits all queued jobs in one transaction.
//!
//! Jobs queue up while a commit is being synced to disk, so the more load there is, the more writes share a disk sync.
//! Each job runs in its own savepoint, or directly in the transaction if it is the only one, and fails alone. A job is
//! answered after its commit.
//!
//! An embedded database has one such thread. A server has two: one for writes that may wait for a bulk write of the
//! world, and one for writes that must not.

mod bulk;
mod job;
mod lane;
mod status;
mod thread;

pub(crate) use self::bulk::{BulkWrite, DeferredCheckpoint, End};

use self::{
    job::{Answer, Task},
    lane::Lane,
    status::WriterStatus,
};
use crate::{
    connection::Access,
    database::Database,
    failure::WorkError,
    table::{history::Write, unreadable::Unreadable},
};
use companion_domain::port::{Cause, StoreError};
use std::sync::Arc;

/// Submits work to the writer threads.
pub(crate) struct Writer {
    status: Arc<WriterStatus>,
    /// Runs all writes.
    all: Lane,
    /// Runs urgent writes. `None` if they share the thread of all others.
    urgent: Option<Lane>,
}

impl Writer {
    /// Opens the connections and starts the threads.
    pub(crate) fn start(database: &Arc<Database>, unreadable: &Arc<Unreadable>) -> Result<Self, Cause> {
        let status = Arc::new(WriterStatus::new(Arc::clone(database), Arc::clone(unreadable)));
        let all = Lane::start(&status, Access::All)?;
        let urgent = match &**database {
            Database::Sqlite(_) => None,
            Database::Postgres(_) => Some(Lane::start(&status, Access::Urgent)?),
        };
        Ok(Self { status, all, urgent })
    }

    fn lane(&self, access: Access) -> &Lane {
        match access {
            Access::All | Access::World => &self.all,
            Access::Urgent => self.urgent.as_ref().unwrap_or(&self.all),
        }
    }

    /// Queues a job. It runs atomically, even if the caller stops waiting for the answer.
    pub(crate) fn submit<T, F>(&self, access: Access, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Write<'_>) -> Result<T, WorkError> + Send + 'static,
    {
        let (task, answer) = Task::new(work);
        self.lane(access).submit(Box::new(task)).map(|()| answer)
    }

    /// Returns the right to write on another connection.
    pub(crate) fn bulk(&self) -> BulkWrite {
        let queue = match &*self.status.database {
            Database::Sqlite(_) => Some(self.all.queue()),
            Database::Postgres(_) => None,
        };
        BulkWrite { status: Arc::clone(&self.status), queue }
    }

    /// Starts another thread if the server of the current one no longer responds.
    pub(crate) fn replace_silent_thread(&self, access: Access) {
        self.lane(access).replace_silent_thread();
    }

    /// Completes queued writes, rejects later ones, and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        for lane in self.lanes() {
            lane.close().await;
        }
    }

    pub(crate) fn status(&self) -> &WriterStatus {
        &self.status
    }

    /// Returns the number of queued writes and the capacity of the queues.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let waiting = self.lanes().map(Lane::waiting);
        waiting.fold((0, 0), |(waiting, capacity), (more, room)| (waiting + more, capacity + room))
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.all).chain(&self.urgent)
    }
}
