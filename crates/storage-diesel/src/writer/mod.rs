//! Writes: jobs for a thread, which commits what is waiting in one transaction.
//!
//! While one commit is on its way to the disk, the next jobs queue up; so the busier the store, the more writes share a
//! disk sync. Each job has a savepoint of its own, or the transaction where it is the only one, and fails alone. A job is
//! answered after the commit that holds it.
//!
//! An embedded database has one such thread. On a server there are two: one for all that a bulk write of the world may hold
//! up, and one for what it must not.

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
use crate::{connection::Access, database::Database, failure::Failure, table::history::Write};
use companion_domain::port::{Cause, StoreError};
use std::sync::Arc;
#[cfg(feature = "sqlite")]
use tokio::sync::oneshot;
#[cfg(feature = "postgres")]
use tokio::task::spawn_blocking;

/// The way to the threads that write.
pub(crate) struct Writer {
    database: Arc<Database>,
    status: Arc<WriterStatus>,
    /// Writes everything.
    all: Lane,
    /// Writes what is urgent, where that need not wait for the rest.
    urgent: Option<Lane>,
}

impl Writer {
    /// Starts the threads, with their connections open.
    pub(crate) fn start(database: &Arc<Database>) -> Result<Self, Cause> {
        let status = Arc::new(WriterStatus::new(Arc::clone(database)));
        let all = Lane::start(database, &status, Access::All)?;
        let urgent = match &**database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => Some(Lane::start(database, &status, Access::Urgent)?),
        };
        Ok(Self { database: Arc::clone(database), status, all, urgent })
    }

    fn lane(&self, access: Access) -> &Lane {
        match access {
            Access::All | Access::World => &self.all,
            Access::Urgent => self.urgent.as_ref().unwrap_or(&self.all),
        }
    }

    /// Hands a job over. It is done whole or not at all, whether or not anyone waits for the answer.
    pub(crate) fn submit<T, F>(&self, access: Access, work: F) -> Result<Answer<T>, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Write<'_>) -> Result<T, Failure> + Send + 'static,
    {
        let (task, answer) = Task::new(work);
        self.lane(access).submit(Box::new(task)).map(|()| answer)
    }

    /// Runs work that may write on a connection of its own. In an embedded database it runs between two batches of the
    /// writer, which would otherwise have to fight it for the one right to write; a server has a lock that all of its
    /// clients line up for. Work that has begun ends, whether or not anyone waits for it.
    pub(crate) async fn bulk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&BulkWrite) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let bulk = BulkWrite { database: Arc::clone(&self.database), status: Arc::clone(&self.status) };
        match &*self.database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite(_) => {
                let (reply, answer) = oneshot::channel();
                let work = move || {
                    // Whoever left does not want to know.
                    let _ = reply.send(work(&bulk));
                };
                self.all.submit_bulk(Box::new(work)).await?;
                answer.await.map_err(|_| StoreError::unavailable("the storage was closed"))
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => {
                spawn_blocking(move || work(&bulk)).await.map_err(StoreError::unavailable)
            }
        }
    }

    /// Lets another thread take over from one whose server has gone silent.
    pub(crate) fn replace_silent_thread(&self, access: Access) {
        self.lane(access).replace_silent_thread();
    }

    /// Finishes what is waiting, refuses what comes later, and returns when the threads have ended.
    pub(crate) async fn close(&self) {
        for lane in self.lanes() {
            lane.close().await;
        }
    }

    pub(crate) fn status(&self) -> &WriterStatus {
        &self.status
    }

    /// How many writes are waiting, and how many could.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let waiting = self.lanes().map(Lane::waiting);
        waiting.fold((0, 0), |(waiting, capacity), (more, room)| (waiting + more, capacity + room))
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.all).chain(&self.urgent)
    }
}
