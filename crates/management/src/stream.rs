//! Handing records from a connection, which lives on one thread, to a store, which may work on another.

use async_trait::async_trait;
use companion_domain::port::{Numbered, RecordSource, RefusedLine, SourceError};
use tokio::sync::mpsc;

/// How many batches may wait: enough to keep both sides busy, few enough to bound memory.
const WAITING: usize = 4;

enum Piece {
    Batch(Vec<Numbered>),
    Failed(RefusedLine),
    End,
}

/// The end that the connection fills.
pub(crate) struct Streamer(mpsc::Sender<Piece>);

/// The end that the store reads. A stream that breaks off without its end is an error: half a world is no world.
pub(crate) struct StreamedRecords(mpsc::Receiver<Piece>);

/// The two ends of a stream of records.
pub(crate) fn streamed_records() -> (Streamer, StreamedRecords) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Streamer(sender), StreamedRecords(receiver))
}

impl Streamer {
    /// Passes records on. False when nobody reads any more.
    pub(crate) async fn batch(&self, records: Vec<Numbered>) -> bool {
        self.0.send(Piece::Batch(records)).await.is_ok()
    }

    /// Returns when nobody reads any more.
    pub(crate) async fn unread(&self) {
        self.0.closed().await;
    }

    /// Ends the stream with a mistake in it.
    pub(crate) async fn fail(self, error: RefusedLine) {
        // A reader that is gone has its own reason, which it tells.
        let _ = self.0.send(Piece::Failed(error)).await;
    }

    /// Ends the stream.
    pub(crate) async fn end(self) {
        let _ = self.0.send(Piece::End).await;
    }
}

#[async_trait]
impl RecordSource for StreamedRecords {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        match self.0.recv().await {
            Some(Piece::Batch(records)) => Ok(Some(records)),
            Some(Piece::Failed(error)) => Err(error.into()),
            Some(Piece::End) => Ok(None),
            None => Err(SourceError::broken("the stream broke off before its end")),
        }
    }
}
