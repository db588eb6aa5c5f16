//! The export: all records of one snapshot, page by page.

mod pages;

use self::pages::{ExportError, PageSender};
use crate::{purpose::Purpose, storage::DieselStorage};
use companion_domain::port::{RecordSink, StoreError, SyncError};
use std::sync::Arc;
use tokio::{sync::mpsc, task::spawn_blocking};

/// Number of pages buffered for the sink.
const PAGES_AHEAD: usize = 2;

/// Exports all records to the sink. Reads on its own connection, so a slow sink delays no other read.
pub(crate) async fn run(storage: &DieselStorage, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
    let database = Arc::clone(storage.database());
    let (sender, mut pages) = mpsc::channel(PAGES_AHEAD);
    let sender = PageSender { pages: sender, unreadable: storage.unreadable() };
    let reading = spawn_blocking(move || {
        let mut db = database.connect(Purpose::Export).map_err(StoreError::unavailable)?;
        match db.snapshot(|db| pages::everything(db, &sender)) {
            Ok(()) | Err(ExportError::Abandoned) => Ok(()),
            Err(ExportError::Failed(failure)) => {
                database.note_failure(&failure.to_string());
                Err(StoreError::from(failure))
            }
        }
    });
    while let Some(records) = pages.recv().await {
        sink.take(records).await.map_err(SyncError::Sink)?;
    }
    // The channel closes when the reader ends, whether it succeeded or failed.
    reading.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))?;
    Ok(())
}
