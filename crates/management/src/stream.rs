//! A channel of records from a connection, which is bound to one thread, to a store, which may run on another.

use async_trait::async_trait;
use companion_domain::port::{InvalidLineError, Numbered, RecordSource, SourceError};
use tokio::sync::mpsc;

/// Batches in flight: enough to keep both sides busy, few enough to bound memory.
const CAPACITY: usize = 4;

/// A batch of records, `None` at the end of a complete stream, or the error that ends it.
pub(crate) type Message = Result<Option<Vec<Numbered>>, InvalidLineError>;

/// The receiver, read by the store. A stream that ends without `None` is an error: a partial world must not be stored.
pub(crate) struct RecordReceiver(mpsc::Receiver<Message>);

/// Creates a channel of records. A store that stopped reading reports its own error.
pub(crate) fn record_channel() -> (mpsc::Sender<Message>, RecordReceiver) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (sender, RecordReceiver(receiver))
}

#[async_trait]
impl RecordSource for RecordReceiver {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        match self.0.recv().await {
            Some(message) => Ok(message?),
            None => Err(SourceError::broken("the stream ended early")),
        }
    }
}
