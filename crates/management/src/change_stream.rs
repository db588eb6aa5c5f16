//! `GET /bot/changes`: changes as server-sent events.

use crate::{
    access::{Bearer, Scope},
    request::{Call, Query, invalid_value, number},
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::Method,
    web::{self, Bytes},
};
use companion_domain::{
    change::{Change, Kind, Revision},
    usecase::{Watch, WatchEvent},
};
use companion_http::{
    ApiError, Shell,
    event_stream::{beat, event_stream},
    openapi::failure,
};
use futures_util::{FutureExt as _, future::LocalBoxFuture, stream};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, convert::Infallible, fmt::Write as _, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::Interval};

/// Maximum number of concurrent streams. Other requests are still served.
pub(crate) const MAX_STREAMS: usize = 1500;
/// `Retry-After` of rejected streams.
const RETRY_AFTER: Duration = Duration::from_secs(30);
const LAST_EVENT_ID: &str = "last-event-id";

/// Watch changes as they happen
///
/// Server-sent events. Each change is an event: `id` is its revision, `event` its kind, and `data` its subject: `{"id":
/// …}`, for a member `{"guild": …, "user": …}`, for settings and their confirmation
/// `{"guild": …, "revision": …}`, for an outline `{"guild": …}`, for the team, the schema or a bulk change `{}`. An event is sent once this node
/// serves the change. Without a position the stream begins now, with an event of `id` alone. `event: reset` means that
/// the history does not reach back to the position: reload everything, and continue from its `id`. A comment is sent
/// every 15 seconds. The kinds `session` and `grant` are sent only to keys with the scope `people`; requesting them by
/// name without it is refused.
#[utoipa::path(
    get, path = "/bot/changes", operation_id = "watchChanges", tag = "feed",
    params(
        ("kinds" = Option<String>, Query, description = "Only these kinds, separated by commas.", example = "guild,member"),
        ("since" = Option<String>, Query, description = "The id to continue after, if no `Last-Event-ID` is sent."),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event received, to continue after it."),
    ),
    responses(
        (status = 200, description = "A stream of changes without an end.", body = String, content_type = "text/event-stream"),
        failure::Watching,
    )
)]
pub(crate) async fn watch(
    shell: web::Data<Shell>,
    Call { context, request, .. }: Call,
) -> Result<HttpResponse, ApiError> {
    let query = Query::read(request.query_string(), &["kinds", "since"])?;
    let kinds = kinds_for(&Bearer::of(&request)?, query.text("kinds"))?;
    let position = position(&request, &query)?;
    let mut response = event_stream();
    if request.method() == Method::HEAD {
        return Ok(response.finish());
    }
    let mut closing = shell.closing().boxed_local();
    let permit = context.streams.clone().try_acquire_owned().ok();
    // During a shutdown the stream would only be closed again.
    let permit = permit.filter(|_| (&mut closing).now_or_never().is_none());
    let stream = ChangeStream {
        _permit: permit.ok_or(ApiError::Overloaded(RETRY_AFTER))?,
        watch: context.use_cases.watch_changes.after(position),
        kinds,
        beat: beat(),
        closing,
    };
    let events = stream::unfold(stream, async |mut stream| {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(event)), stream))
    });
    Ok(response.streaming(events))
}

/// Returns the position to continue from. `Last-Event-ID`, which browsers send on reconnect, takes precedence over the
/// query.
fn position(request: &HttpRequest, query: &Query) -> Result<Option<Revision>, ApiError> {
    let revision = |name: &str, text: &str| number(name, text, "must be the id of an event").map(Revision);
    match request.headers().get(LAST_EVENT_ID) {
        Some(id) => revision("Last-Event-ID", id.to_str().unwrap_or_default()).map(Some),
        None => query.text("since").map(|since| revision("since", since)).transpose(),
    }
}

/// Returns the kinds to send. Kinds that the key may not see are omitted, or refused if requested by name.
fn kinds_for(bearer: &Bearer, asked: Option<&str>) -> Result<BTreeSet<Kind>, ApiError> {
    let Some(list) = asked else {
        let told = |kind: &Kind| bearer.may(Scope::People) || !kind.is_personal();
        return Ok(Kind::ALL.into_iter().filter(told).collect());
    };
    let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.event() == name);
    let kinds: BTreeSet<_> = list.split(',').map(kind).collect::<Option<_>>().ok_or_else(|| {
        let known = Kind::ALL.map(Kind::event).join(", ");
        invalid_value("kinds", &format!("must be a list out of {known}"))
    })?;
    if kinds.iter().any(|kind| kind.is_personal()) {
        bearer.require(Scope::People)?;
    }
    Ok(kinds)
}

/// An open stream.
struct ChangeStream {
    watch: Watch,
    kinds: BTreeSet<Kind>,
    beat: Interval,
    /// Resolves when the listener begins to shut down.
    closing: LocalBoxFuture<'static, ()>,
    _permit: OwnedSemaphorePermit,
}

impl ChangeStream {
    /// Waits for the next events. Returns `None` at the end of the stream.
    async fn next(&mut self) -> Option<String> {
        let mut blocks = String::new();
        while blocks.is_empty() {
            tokio::select! {
                // Pending changes are sent before the stream ends.
                biased;
                // On an error the stream ends; the client reconnects and continues from its position.
                received = self.watch.next() => self.write(received.ok()?, &mut blocks),
                () = &mut self.closing => return None,
                _ = self.beat.tick() => blocks.push_str(":\n\n"),
            }
        }
        Some(blocks)
    }

    fn write(&self, received: WatchEvent, blocks: &mut String) {
        // Writing to a string cannot fail.
        let _ = match received {
            WatchEvent::Beginning(Revision(id)) => write!(blocks, "id: {id}\n\n"),
            WatchEvent::Reset(Revision(id)) => write!(blocks, "id: {id}\nevent: reset\ndata: {{}}\n\n"),
            WatchEvent::Changes(changes) => {
                let wanted = changes.iter().filter(|change| self.kinds.contains(&change.subject.kind()));
                wanted.for_each(|change| event(change, blocks));
                // Sends the position after omitted changes, so that a client that reconnects skips them.
                match changes.last() {
                    Some(last) if !self.kinds.contains(&last.subject.kind()) => {
                        write!(blocks, "id: {}\n\n", last.revision.0)
                    }
                    Some(_) | None => Ok(()),
                }
            }
        };
    }
}

/// Writes a change as an event.
fn event(change: &Change, blocks: &mut String) {
    let (name, parts) = (change.subject.kind().event(), change.subject.parts());
    // Ids are text, revisions of settings are numbers.
    let value = |name: &str, text: String| match text.parse::<u64>() {
        Ok(number) if name == "revision" => Value::from(number),
        _ => Value::from(text),
    };
    let about: Map<_, _> =
        parts.into_iter().map(|(name, part)| (name.to_owned(), value(name, part.to_string()))).collect();
    let _ = write!(blocks, "id: {}\nevent: {name}\ndata: {}\n\n", change.revision.0, Value::Object(about));
}
