//! `companion import FILE`, and `--dry-run`.

use super::{
    error::{CommandError, with_causes},
    output::{Progress, counted, print},
    stored::with_storage_by,
};
use crate::{
    composition::Storage,
    configuration::{Configuration, StorageUrl},
    logging,
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    port::{Numbered, RecordSource, Replace, SourceError, SyncError},
    usecase::Feed,
};
use companion_http::audit::Audit;
use companion_records::{Accepted, Lines};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Read buffer, in bytes.
const CHUNK: usize = 256 * 1024;

pub(super) fn run(configuration: &Configuration, file: &Path, create: bool) -> Result<(), CommandError> {
    logging::start(&configuration.log);
    let mut records = FileRecords::open(file)?;
    let open = async |url: &StorageUrl| Storage::open_or_create(url, create).await;
    let tally = with_storage_by(configuration, open, async |storage| {
        let imported = feed(storage).sync(&Replace::default(), &mut records).await;
        imported.map_err(|error| refused(&error))
    });
    let count = records.progress.finish();
    let tally = tally?;
    Audit::of_command_line("import").concluded(Ok(&tally));
    let Tally { added, changed, removed } = tally;
    let read = counted(count, "record");
    print(&format!("{read} read: {added} added, {changed} changed, {removed} removed\n"))
}

/// Prints what `run` would change, and changes nothing. Does not create a missing database.
pub(super) fn preview(configuration: &Configuration, file: &Path) -> Result<(), CommandError> {
    let mut records = FileRecords::open(file)?;
    let tally = with_storage_by(configuration, Storage::open_without_migrating, async |storage| {
        let (feed, replace) = (feed(storage), Replace::default());
        let previewed = match storage {
            Storage::Diesel(database) => match feed.bounded(&replace, &mut records).await {
                Ok(mut bounded) => database.preview(&replace, &mut bounded).await,
                Err(error) => Err(error),
            },
            // An in-memory substitute for a missing database, discarded with this command.
            Storage::Memory(_) => feed.sync(&replace, &mut records).await,
        };
        previewed.map_err(|error| refused(&error))
    });
    let count = records.progress.finish();
    let Tally { added, changed, removed } = tally?;
    let read = counted(count, "record");
    print(&format!(
        "{read} read: {added} would be added, {changed} changed, {removed} removed; nothing was imported\n"
    ))
}

fn feed(storage: &Storage) -> Feed {
    let stores = storage.stores();
    Feed { records: stores.records, team: stores.team }
}

fn refused(error: &SyncError) -> CommandError {
    CommandError::Failed(format!("nothing was imported: {}", with_causes(error)))
}

struct FileRecords {
    input: Box<dyn Read + Send>,
    /// `None` after the end of the file.
    lines: Option<Lines>,
    progress: Progress,
}

impl FileRecords {
    fn open(file: &Path) -> Result<Self, CommandError> {
        let input: Box<dyn Read + Send> = if file == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let opened = File::open(file);
            let failed = |error| CommandError::Failed(format!("cannot open {}: {error}", file.display()));
            Box::new(opened.map_err(failed)?)
        };
        Ok(Self { input, lines: Some(Lines::new(Accepted::Archive)), progress: Progress::new("read") })
    }
}

#[async_trait]
impl RecordSource for FileRecords {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let Some(mut lines) = self.lines.take() else { return Ok(None) };
        let mut chunk = vec![0; CHUNK];
        let read = self.input.read(&mut chunk).map_err(SourceError::broken)?;
        let records = if read == 0 {
            lines.finish()?.into_iter().collect()
        } else {
            let records = lines.take(chunk.get(..read).unwrap_or_default())?;
            self.lines = Some(lines);
            records
        };
        self.progress.add(records.len());
        Ok(Some(records))
    }
}
