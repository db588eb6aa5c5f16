//! `companion import FILE`.

use super::{
    failure::{Failure, with_causes},
    output::print,
    progress::Progress,
    stored::with_storage_made,
};
use crate::configuration::Configuration;
use async_trait::async_trait;
use companion_domain::{
    port::{Numbered, RecordSource, Replace, SourceError},
    usecase::TakeIn,
};
use companion_records::{Accepted, Lines};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// How much is read at once.
const CHUNK: usize = 256 * 1024;

pub(super) fn run(configuration: &Configuration, file: &Path, create: bool) -> Result<(), Failure> {
    let input: Box<dyn Read + Send> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let opened = File::open(file);
        Box::new(opened.map_err(|error| Failure::Failed(format!("cannot open {}: {error}", file.display())))?)
    };
    with_storage_made(configuration, create, async |storage| {
        let lines = Some(Lines::new(Accepted::Archive));
        let mut records = FileRecords { input, lines, progress: Progress::new("read") };
        let stores = storage.stores();
        let take_in = TakeIn { world: stores.world, team: stores.team };
        let imported = take_in.sync(&Replace::default(), &mut records).await;
        let count = records.progress.finish();
        let tally = imported
            .map_err(|error| Failure::Failed(format!("nothing was imported: {}", with_causes(&error))))?;
        print(&format!(
            "{count} records read: {} added, {} changed, {} removed\n",
            tally.added, tally.changed, tally.removed
        ))
    })
}

struct FileRecords {
    input: Box<dyn Read + Send>,
    /// Nothing once the file has ended.
    lines: Option<Lines>,
    progress: Progress,
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
