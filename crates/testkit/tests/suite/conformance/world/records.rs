//! Records in memory, on their way into a store or out of it.

use async_trait::async_trait;
use companion_domain::port::{Cause, Numbered, Record, RecordSink, RecordSource, SourceError, SyncError};
use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Held(pub(super) VecDeque<Vec<Numbered>>);

#[async_trait]
impl RecordSource for Held {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        Ok(self.0.pop_front())
    }
}

#[derive(Default)]
pub(super) struct Collected(pub(super) Vec<Record>);

#[async_trait]
impl RecordSink for Collected {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        self.0.extend(records);
        Ok(())
    }
}

pub(super) async fn read(source: &mut dyn RecordSource) -> Result<Vec<Numbered>, SyncError> {
    let mut records = Vec::new();
    while let Some(batch) = source.next().await.map_err(SyncError::Source)? {
        records.extend(batch);
    }
    Ok(records)
}
