//! Where the pages of an export go.

use crate::{failure::Failure, table::unreadable::Unreadable};
use companion_domain::port::Record;
use std::sync::Arc;
use tokio::sync::mpsc;

/// How many records are read and handed over at once.
pub(super) const PAGE: i64 = 500;

/// Why an export ends early.
pub(super) enum Stopped {
    /// Nobody takes the records any more.
    Abandoned,
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Sends pages to the sink, and counts what cannot be read.
pub(super) struct PageSender {
    pub(super) pages: mpsc::Sender<Vec<Record>>,
    pub(super) unreadable: Arc<Unreadable>,
}

impl PageSender {
    pub(super) fn send(&self, records: Vec<Record>) -> Result<(), Stopped> {
        if records.is_empty() {
            return Ok(());
        }
        self.pages.blocking_send(records).map_err(|_| Stopped::Abandoned)
    }
}
