//! `POST /bot/sync`: a world of any size, applied as one change.

use crate::{
    api::ManagementContext,
    change::Changes,
    replace::{Replacement, replacement},
};
use actix_web::{HttpRequest, HttpResponse, rt, web};
use async_trait::async_trait;
use companion_domain::{
    model::Roster,
    port::{InvalidLineError, Numbered, RecordSource, SourceError, SyncError},
};
use companion_http::{ApiError, audit::Audit, openapi::failure};
use companion_records::{Accepted, Lines, SyncLine};
use futures_util::StreamExt as _;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{self, Sender},
    time::timeout,
};

/// Idle timeout of the stream. Time in which the store applies backpressure does not count.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Batches in flight: enough to keep both sides busy, few enough to bound memory.
const CAPACITY: usize = 4;

/// A batch of records, `None` at the end of a complete stream, or the error that ends it.
type Message = Result<Option<Vec<Numbered>>, InvalidLineError>;

/// The receiver, read by the store. A stream that ends without `None` is an error: a partial world must not be stored.
struct RecordReceiver(mpsc::Receiver<Message>);

/// Creates a channel of records. A store that stopped reading reports its own error.
fn record_channel() -> (mpsc::Sender<Message>, RecordReceiver) {
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

/// Report the whole world as one change
///
/// The stream may be of any length and take any time, as long as data arrives every 30 seconds. If lines have the same
/// key, the last one wins. Nothing changes unless every line is valid and the stream is complete; `data.fields` names
/// the first invalid line. A member's guild must be known or part of the same stream. `shard` and `shards` must be sent
/// together.
#[utoipa::path(
    post, path = "/bot/sync", operation_id = "sync", tag = "feed",
    params(Replacement),
    request_body(
        content = SyncLine,
        description = "Any number of lines of this shape, in any order, each ended by a newline (newline-delimited \
                       JSON). `Content-Type` is ignored.",
        content_type = "application/json",
        example = SyncLine::example,
    ),
    responses((status = 200, description = "The stream is applied.", body = Changes), failure::Sync)
)]
pub(crate) async fn sync(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    body: web::Payload,
) -> Result<HttpResponse, ApiError> {
    let replace = replacement(request.query_string())?;
    let lines = Lines::new(Accepted::World);
    let (sender, mut records) = record_channel();
    let (feed, audit) = (Arc::clone(&context.use_cases.feed), Audit::of(&request, "sync"));
    // The store runs in its own task: if the client disconnects, the stream ends early and the sync is rolled back.
    let applied = rt::spawn(async move {
        let applied = feed.sync(&replace, &mut records).await.map_err(refused);
        audit.concluded(applied.as_ref());
        applied
    });
    let delivered = deliver(body, lines, sender).await;
    let applied = applied.await.map_err(|panic| ApiError::Internal(panic.into()))?;
    delivered?;
    Changes::answer(applied?)
}

/// Forwards lines as they arrive, so that only a few chunks of the stream are in memory. Returns early if the store has
/// stopped reading.
async fn deliver(mut body: web::Payload, mut lines: Lines, sender: Sender<Message>) -> Result<(), ApiError> {
    loop {
        let next = tokio::select! {
            next = timeout(IDLE_TIMEOUT, body.next()) => next.map_err(|_| ApiError::BodyTimeout)?,
            () = sender.closed() => return Ok(()),
        };
        let Some(chunk) = next else { break };
        let chunk = chunk.map_err(|_| ApiError::BodyBroken)?;
        let message = match lines.take(&chunk) {
            Ok(records) if records.is_empty() => continue,
            taken => taken.map(Some),
        };
        let failed = message.is_err();
        if sender.send(message).await.is_err() || failed {
            return Ok(());
        }
    }
    match lines.finish() {
        Ok(last) => {
            let _ = sender.send(Ok(Some(last.into_iter().collect()))).await;
            let _ = sender.send(Ok(None)).await;
        }
        Err(error) => drop(sender.send(Err(error)).await),
    }
    Ok(())
}

fn refused(error: SyncError) -> ApiError {
    let refused = match error {
        SyncError::Store(error) => return error.into(),
        SyncError::Sink(cause) => return ApiError::Internal(cause),
        SyncError::Source(SourceError::KeptElsewhere(kind)) => return ApiError::KeptElsewhere(kind.event()),
        SyncError::Source(SourceError::Broken(_)) => return ApiError::BodyBroken,
        SyncError::Source(SourceError::Refused(refused)) => refused,
        SyncError::Source(SourceError::TeamFull { line }) => {
            let message = format!("is one too many: a team has at most {} places", Roster::MAX);
            InvalidLineError::with_field(line, "", &message)
        }
        SyncError::UnknownGuild { line, guild } => {
            let message = format!("names guild {guild}, which is neither known nor part of this sync");
            InvalidLineError::with_field(line, "guild", &message)
        }
    };
    ApiError::InputInvalid(refused.into_field_errors())
}
