//! Commands on stored data: `companion migrate`, `backup` and `export`, and what the others share with them.

use super::output::{Progress, counted, print};
use crate::{
    composition::Storage,
    configuration::{Configuration, StorageUrl},
    error::{ProgramError, cannot, failed, refused, with_causes},
};
use async_trait::async_trait;
use companion_domain::port::{Cause, Record, RecordSink};
use companion_records::write_line;
use companion_storage_diesel::BackupError;
use std::{
    io::{self, BufWriter, Stdout, Write as _},
    path::Path,
};
use tokio::runtime::Runtime;

/// Opens the configured storage, runs `work` on it, and closes it. Fails if the database does not exist.
pub(super) fn with_storage<T>(
    configuration: &Configuration,
    work: impl AsyncFnOnce(&Storage) -> Result<T, ProgramError>,
) -> Result<T, ProgramError> {
    with_storage_by(configuration, Storage::open, work)
}

/// Like [`with_storage`], but opens the storage with `open`.
pub(super) fn with_storage_by<T>(
    configuration: &Configuration,
    open: impl AsyncFnOnce(&StorageUrl) -> Result<Storage, ProgramError>,
    work: impl AsyncFnOnce(&Storage) -> Result<T, ProgramError>,
) -> Result<T, ProgramError> {
    let url = &configuration.storage.url;
    if *url == StorageUrl::Memory {
        return Err(refused(
            "storage.url: this command needs stored data, but storage is in memory\n    fix: set COMPANION_STORAGE__URL=sqlite:PATH",
        ));
    }
    Runtime::new().map_err(failed)?.block_on(async {
        let storage = open(url).await?;
        let done = work(&storage).await;
        storage.close().await;
        done
    })
}

pub(super) fn migrate(configuration: &Configuration, create: bool) -> Result<(), ProgramError> {
    // Opening migrates the schema, or returns why it cannot.
    let open = async |url: &StorageUrl| Storage::open_or_create(url, create).await;
    with_storage_by(configuration, open, async |_| print("The database is up to date.\n"))
}

pub(super) fn backup(configuration: &Configuration, file: &Path) -> Result<(), ProgramError> {
    // A PostgreSQL server is refused without connecting, because this command cannot copy it.
    if let StorageUrl::Postgres(_) = configuration.storage.url {
        return Err(refused(BackupError::OnServer));
    }
    with_storage(configuration, async |storage| {
        let Storage::Diesel(storage) = storage else {
            return Err(refused("storage in memory cannot be backed up"));
        };
        storage.backup(file).await.map_err(|error| failed(with_causes(&error)))?;
        print(&format!("The database is copied to {}.\n", file.display()))
    })
}

pub(super) fn export(configuration: &Configuration) -> Result<(), ProgramError> {
    with_storage(configuration, async |storage| {
        let mut output = Output { out: BufWriter::new(io::stdout()), progress: Progress::new("exported") };
        let exported = storage.stores().records.export(&mut output).await;
        let flushed = output.out.flush();
        let count = output.progress.finish();
        exported.map_err(|error| cannot("export", &error))?;
        flushed.map_err(|error| cannot("write the output", &error))?;
        let told = format!("{} exported\n{}", counted(count, "record"), left_out(&storage.unreadable_rows()));
        // To standard error, because standard output is the export itself.
        let _ = io::stderr().write_all(told.as_bytes());
        Ok(())
    })
}

/// Returns the warning about unreadable rows, with the count of each table.
fn left_out(unreadable: &[(&str, u64)]) -> String {
    let sum: u64 = unreadable.iter().map(|(_, count)| count).sum();
    let tables: Vec<_> = unreadable.iter().map(|(table, count)| format!("{table} {count}")).collect();
    match sum {
        0 => String::new(),
        1 => format!("1 stored row could not be read and was left out: {}\n", tables.join(", ")),
        _ => format!("{sum} stored rows could not be read and were left out: {}\n", tables.join(", ")),
    }
}

struct Output {
    out: BufWriter<Stdout>,
    progress: Progress,
}

#[async_trait]
impl RecordSink for Output {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        self.progress.add(records.len());
        for record in records {
            self.out.write_all(write_line(record).as_bytes())?;
        }
        Ok(())
    }
}
