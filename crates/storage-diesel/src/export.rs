//! The export: all records of one snapshot, page by page.

use crate::{
    connection::AnyConnection,
    failure::WorkError,
    limits::Purpose,
    storage::DieselStorage,
    table::{
        records::{Loaded, load, table_of},
        row::{RowKey, Sql},
        unreadable::Unreadable,
    },
};
use companion_domain::{
    change::Kind,
    port::{Record, RecordSink, StoreError, SyncError},
};
use std::{collections::HashSet, sync::Arc};
use tokio::{sync::mpsc, task::spawn_blocking};

/// Number of records read and sent at once.
const PAGE_RECORDS: usize = 500;
/// Number of pages buffered for the sink.
const PAGES_AHEAD: usize = 2;

/// Exports all records to the sink. Reads on its own connection, so a slow sink delays no other read.
pub(crate) async fn run(storage: &DieselStorage, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
    let (database, unreadable) = (Arc::clone(storage.database()), storage.unreadable());
    let (sender, mut pages) = mpsc::channel(PAGES_AHEAD);
    let reading = spawn_blocking(move || {
        let mut db = database.connect(Purpose::Export).map_err(StoreError::unavailable)?;
        db.snapshot(|db| everything(db, &sender, &unreadable)).map_err(|failure: WorkError| {
            database.note_failure(&failure.to_string());
            StoreError::from(failure)
        })
    });
    while let Some(records) = pages.recv().await {
        sink.take(records).await.map_err(SyncError::Sink)?;
    }
    // The channel closes when the reader ends, whether it succeeded or failed.
    reading.await.unwrap_or_else(|stopped| Err(StoreError::unavailable(stopped)))?;
    Ok(())
}

/// Sends all records, ordered by kind and key, until the receiver is dropped. Records of an unreadable guild are skipped
/// too, because they would arrive without their guild.
fn everything(
    db: &mut AnyConnection,
    sender: &mpsc::Sender<Vec<Record>>,
    unreadable: &Unreadable,
) -> Result<(), WorkError> {
    let mut lost_guilds = HashSet::new();
    for kind in Kind::ALL {
        let Some(table) = table_of(kind) else { continue };
        let (keys, mut after) = (table.keys.join(", "), Vec::new());
        loop {
            let behind = if after.is_empty() {
                String::new()
            } else {
                format!("WHERE ({keys}) > ({})", vec!["?"; after.len()].join(", "))
            };
            let page = format!("{} {behind} ORDER BY {keys} LIMIT {PAGE_RECORDS}", table.select());
            let page = load(db, kind, (&Sql::new(&page), after), unreadable)?;
            let Some(Loaded { key: RowKey(last), .. }) = page.last() else { break };
            after = last.clone();
            let mut records = Vec::with_capacity(page.len());
            for Loaded { key, record } in page {
                let guild = key.0.first().cloned();
                if kind.is_of_guild() && lost_guilds.contains(&guild) {
                    unreadable.count(table.name);
                    continue;
                }
                let record = unreadable.accept(|| key, record);
                if record.is_none() && kind == Kind::Guild {
                    lost_guilds.insert(guild);
                }
                records.extend(record);
            }
            if !records.is_empty() && sender.blocking_send(records).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
