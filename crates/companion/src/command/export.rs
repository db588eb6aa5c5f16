//! `companion export`.

use super::{
    failure::{Failure, with_causes},
    output::counted,
    progress::Progress,
    stored::with_storage,
};
use crate::configuration::Configuration;
use async_trait::async_trait;
use companion_domain::port::{Cause, Record, RecordSink};
use companion_records::write_line;
use std::io::{self, BufWriter, Stdout, Write as _};

pub(super) fn run(configuration: &Configuration) -> Result<(), Failure> {
    with_storage(configuration, async |storage| {
        let mut output = Output { out: BufWriter::new(io::stdout()), progress: Progress::new("exported") };
        let exported = storage.stores().world.export(&mut output).await;
        let flushed = output.out.flush();
        let count = output.progress.finish();
        exported.map_err(|error| Failure::Failed(format!("cannot export: {}", with_causes(&error))))?;
        flushed.map_err(|error| Failure::Failed(format!("cannot write the output: {error}")))?;
        report(&format!("{} exported\n{}", counted(count, "record"), left_out(&storage.unreadable_rows())));
        Ok(())
    })
}

/// What an export lacks, table by table.
fn left_out(unreadable: &[(&str, u64)]) -> String {
    let sum: u64 = unreadable.iter().map(|(_, count)| count).sum();
    let tables: Vec<_> = unreadable.iter().map(|(table, count)| format!("{table} {count}")).collect();
    match sum {
        0 => String::new(),
        1 => format!("1 stored row could not be read and was left out: {}\n", tables.join(", ")),
        _ => format!("{sum} stored rows could not be read and were left out: {}\n", tables.join(", ")),
    }
}

/// Standard output is the export itself, so what is said about it goes elsewhere.
fn report(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

struct Output {
    out: BufWriter<Stdout>,
    progress: Progress,
}

#[async_trait]
impl RecordSink for Output {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        for record in &records {
            self.out.write_all(write_line(record).as_bytes())?;
        }
        self.progress.add(records.len());
        Ok(())
    }
}
