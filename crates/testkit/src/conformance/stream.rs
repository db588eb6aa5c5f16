//! Sources and sinks of records.

use async_trait::async_trait;
use companion_domain::port::{Cause, Numbered, Record, RecordSink, RecordSource, SourceError};
use std::collections::VecDeque;

/// Returns records in batches, then ends or fails.
pub struct Stream {
    batches: VecDeque<Vec<Numbered>>,
    failure: Option<&'static str>,
}

impl Stream {
    /// Creates a stream of records on lines from 1 on, in one batch.
    #[must_use]
    pub fn of(records: impl IntoIterator<Item = Record>) -> Self {
        Self::in_batches(records, usize::MAX)
    }

    /// Creates a stream of records on lines from 1 on, in batches of this size.
    #[must_use]
    pub fn in_batches(records: impl IntoIterator<Item = Record>, size: usize) -> Self {
        Self::numbered((1..).zip(records), size)
    }

    /// Creates a stream of records on these lines, in batches of this size.
    #[must_use]
    pub fn numbered(lines: impl IntoIterator<Item = (u64, Record)>, size: usize) -> Self {
        let lines: Vec<_> = lines.into_iter().map(|(line, record)| Numbered { line, record }).collect();
        Self { batches: lines.chunks(size).map(<[Numbered]>::to_vec).collect(), failure: None }
    }

    /// Fails with this message instead of ending.
    #[must_use]
    pub fn failing(self, failure: &'static str) -> Self {
        Self { failure: Some(failure), ..self }
    }
}

#[async_trait]
impl RecordSource for Stream {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        // A reader may be cancelled while it waits for a batch.
        tokio::task::yield_now().await;
        match (self.batches.pop_front(), self.failure) {
            (Some(batch), _) => Ok(Some(batch)),
            (None, Some(failure)) => Err(SourceError::broken(failure)),
            (None, None) => Ok(None),
        }
    }
}

/// Collects the records of an export.
#[derive(Default)]
pub struct Collected(
    /// The records so far.
    pub Vec<Record>,
);

#[async_trait]
impl RecordSink for Collected {
    async fn take(&mut self, records: Vec<Record>) -> Result<(), Cause> {
        self.0.extend(records);
        Ok(())
    }
}
