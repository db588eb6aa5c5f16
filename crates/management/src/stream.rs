//! A channel of records from a connection, which is bound to one thread, to a store, which may run on another.

use async_trait::async_trait;
use companion_domain::port::{InvalidLineError, Numbered, RecordSource, SourceError};
use tokio::sync::mpsc;

/// Batches in flight: enough to keep both sides busy, few enough to bound memory.
const CAPACITY: usize = 4;

enum Message {
    Batch(Vec<Numbered>),
    Failed(InvalidLineError),
    End,
}

/// The sender, used by the connection.
pub(crate) struct RecordSender(mpsc::Sender<Message>);

/// The receiver, read by the store. A stream that ends without [`Message::End`] is an error: a partial world must not
/// be stored.
pub(crate) struct RecordReceiver(mpsc::Receiver<Message>);

/// Creates a channel of records.
pub(crate) fn record_channel() -> (RecordSender, RecordReceiver) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (RecordSender(sender), RecordReceiver(receiver))
}

impl RecordSender {
    /// Sends records. Returns `false` if the receiver is dropped.
    pub(crate) async fn batch(&self, records: Vec<Numbered>) -> bool {
        self.0.send(Message::Batch(records)).await.is_ok()
    }

    /// Waits until the receiver is dropped.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Ends the stream with an error.
    pub(crate) async fn fail(self, error: InvalidLineError) {
        // A store that stopped reading reports its own error.
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
            None => Err(SourceError::broken("the stream ended early")),
        }
    }
}
