//! A channel for records, from a connection, which lives on one thread, to a store, which may work on another.

use async_trait::async_trait;
use companion_domain::port::{Numbered, RecordSource, RefusedLine, SourceError};
use tokio::sync::mpsc;

/// How many batches may wait: enough to keep both sides busy, few enough to bound memory.
const CAPACITY: usize = 4;

enum Message {
    Batch(Vec<Numbered>),
    Failed(RefusedLine),
    End,
}

/// The end that the connection fills.
pub(crate) struct RecordSender(mpsc::Sender<Message>);

/// The end that the store reads. A stream that breaks off without [`Message::End`] is an error: half a
/// world must not be stored.
pub(crate) struct RecordReceiver(mpsc::Receiver<Message>);

/// The two ends of a stream of records.
pub(crate) fn record_channel() -> (RecordSender, RecordReceiver) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (RecordSender(sender), RecordReceiver(receiver))
}

impl RecordSender {
    /// Passes records on. False when nobody reads any more.
    pub(crate) async fn batch(&self, records: Vec<Numbered>) -> bool {
        self.0.send(Message::Batch(records)).await.is_ok()
    }

    /// Returns when nobody reads any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Ends the stream with a mistake in it.
    pub(crate) async fn fail(self, error: RefusedLine) {
        // A reader that is gone has its own reason, which it tells.
        let _ = self.0.send(Message::Failed(error)).await;
    }

    /// Ends the stream.
    pub(crate) async fn end(self) {
        let _ = self.0.send(Message::End).await;
    }
}

#[async_trait]
impl RecordSource for RecordReceiver {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        match self.0.recv().await {
            Some(Message::Batch(records)) => Ok(Some(records)),
            Some(Message::Failed(error)) => Err(error.into()),
            Some(Message::End) => Ok(None),
            None => Err(SourceError::broken("the stream broke off before its end")),
        }
    }
}
