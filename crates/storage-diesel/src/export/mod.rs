//! Giving everything out, as of one moment and a page at a time.

mod pages;

use crate::{row::unreadable::Unreadable, storage::DieselStorage};
use companion_domain::port::{Record, RecordSink, StoreError, SyncError};
use std::sync::Arc;
use tokio::{sync::mpsc, task::spawn_blocking};

/// How many records are read and handed over at once.
const PAGE: i64 = 500;
/// How many pages may wait for the sink.
const AHEAD: usize = 2;

/// The other side does not listen any more, or the database failed.
enum Stopped {
    Unheard,
    Failed(crate::failure::Failure),
}

impl<E: Into<crate::failure::Failure>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Where pages go, and what cannot be read.
struct Outlet {
    pages: mpsc::Sender<Vec<Record>>,
    unreadable: Arc<Unreadable>,
}

impl Outlet {
    fn give(&self, records: Vec<Record>) -> Result<(), Stopped> {
        if records.is_empty() {
            return Ok(());
        }
        self.pages.blocking_send(records).map_err(|_| Stopped::Unheard)
    }
}

/// Reads on a connection of its own, however long the sink takes, so that no other read waits for it.
pub(crate) async fn run(storage: &DieselStorage, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
    let database = Arc::clone(storage.database());
    let (sender, mut pages) = mpsc::channel(AHEAD);
    let outlet = Outlet { pages: sender, unreadable: storage.unreadable() };
    let reading = spawn_blocking(move || {
        let mut db = database.connect_exporter().map_err(StoreError::unavailable)?;
        match db.snapshot(|db| pages::everything(db, &outlet)) {
            Ok(()) | Err(Stopped::Unheard) => Ok(()),
            Err(Stopped::Failed(failure)) => Err(StoreError::from(failure)),
        }
    });
    while let Some(records) = pages.recv().await {
        sink.take(records).await.map_err(SyncError::Source)?;
    }
    // The channel closes when the reader is done, whether it got to the end or not.
    reading.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))?;
    Ok(())
}
