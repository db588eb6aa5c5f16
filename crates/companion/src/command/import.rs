//! `companion import FILE`, and `--dry-run`.

use super::{
    output::{Progress, counted, print},
    stored::with_storage_by,
};
use crate::{
    composition::Storage,
    configuration::{Configuration, StorageUrl},
    error::{ProgramError, failed, with_causes},
    logging,
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    port::{Numbered, RecordSource, Replace, SourceError, Stores},
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

/// Imports the file. A dry run prints what that would change, changes nothing, and does not create a missing database.
pub(super) fn run(
    configuration: &Configuration,
    file: &Path,
    create: bool,
    dry_run: bool,
) -> Result<(), ProgramError> {
    if !dry_run {
        logging::start(&configuration.log);
    }
    let mut records = FileRecords::open(file)?;
    let open = async |url: &StorageUrl| match dry_run {
        true => Storage::open_without_migrating(url).await,
        false => Storage::open_or_create(url, create).await,
    };
    let tally = with_storage_by(configuration, open, async |storage| {
        let Stores { records: stored, team, .. } = storage.stores();
        let (feed, replace) = (Feed { records: stored, team }, Replace::default());
        let synced = match storage {
            Storage::Diesel(database) if dry_run => match feed.bounded(&replace, &mut records).await {
                Ok(mut bounded) => database.preview(&replace, &mut bounded).await,
                Err(error) => Err(error),
            },
            // In a dry run, storage in memory is a substitute for a missing database, discarded with this command.
            Storage::Diesel(_) | Storage::Memory(_) => feed.sync(&replace, &mut records).await,
        };
        synced.map_err(|error| failed(format_args!("nothing was imported: {}", with_causes(&error))))
    });
    let read = counted(records.progress.finish(), "record");
    let tally = tally?;
    let Tally { added, changed, removed } = tally;
    if dry_run {
        return print(&format!(
            "{read} read: {added} would be added, {changed} changed, {removed} removed; nothing was imported\n"
        ));
    }
    Audit::of_command_line("import").concluded(Ok(&tally));
    print(&format!("{read} read: {added} added, {changed} changed, {removed} removed\n"))
}

struct FileRecords {
    input: Box<dyn Read + Send>,
    /// `None` after the end of the file.
    lines: Option<Lines>,
    progress: Progress,
}

impl FileRecords {
    fn open(file: &Path) -> Result<Self, ProgramError> {
        let input: Box<dyn Read + Send> = if file == Path::new("-") {
            Box::new(io::stdin())
        } else {
            let opened = File::open(file);
            let opened =
                opened.map_err(|error| failed(format_args!("cannot open {}: {error}", file.display())));
            Box::new(opened?)
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
