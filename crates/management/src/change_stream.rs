//! `GET /bot/changes`: every change as it is shown, as Server-Sent Events.

use crate::{
    access::{Bearer, Scope},
    context::ManagementContext,
    query::Query,
    request::{NoBody, invalid_value},
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

/// How many may listen at once. Others still get in.
pub(crate) const STREAMS: usize = 1500;
/// When those who are too many may try again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
const LAST_EVENT_ID: &str = "last-event-id";

/// Hear of changes as they come
///
/// Server-Sent Events. Each change is a block of `id`, its revision; `event`, its kind; and `data`, which says what it was about:
/// `{"id": …}`, for a member `{"guild": …, "user": …}`, for the team or for very many at once `{}`. It is sent once this node
/// shows it. Without a position the stream begins now, with a block of `id` alone. `event: reset` says that the history does not
/// reach back to the position: load everything, and go on from its `id`. A comment comes every 15 seconds. The kinds `session`
/// and `grant` are told only to keys with the scope `people`; whoever asks for them by name without it is refused.
#[utoipa::path(
    get, path = "/bot/changes", operation_id = "watchChanges", tag = "feed",
    params(
        ("kinds" = Option<String>, Query, description = "Only these kinds, separated by commas.", example = "guild,member"),
        ("since" = Option<String>, Query, description = "The id to go on after, where no `Last-Event-ID` is sent."),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that came, to go on after it."),
    ),
    responses(
        (status = 200, description = "Changes, without an end.", body = String, content_type = "text/event-stream"),
        failure::Watching,
    )
)]
pub(crate) async fn watch(
    context: web::Data<ManagementContext>,
    shell: web::Data<Shell>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let query = Query::read(request.query_string(), &["kinds", "since"])?;
    let kinds = kinds_for(&Bearer::of(&request)?, query.text("kinds"))?;
    let position = position(&request, &query)?;
    let mut response = event_stream();
    if request.method() == Method::HEAD {
        return Ok(response.finish());
    }
    let mut closing = shell.closing().boxed_local();
    let place = context.streams.clone().try_acquire_owned().ok();
    // Whoever comes while the service ends would only be sent away again.
    let place = place.filter(|_| (&mut closing).now_or_never().is_none());
    let stream = ChangeStream {
        _place: place.ok_or(ApiError::Overloaded(TRY_AGAIN))?,
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

/// Where someone wants to go on. What a browser sends by itself counts more than what is in the address.
fn position(request: &HttpRequest, query: &Query) -> Result<Option<Revision>, ApiError> {
    let revision = |name: &str, text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.map(Revision).ok_or_else(|| invalid_value(name, "must be an id that an event had"))
    };
    match request.headers().get(LAST_EVENT_ID) {
        Some(id) => revision("Last-Event-ID", id.to_str().unwrap_or_default()).map(Some),
        None => query.text("since").map(|since| revision("since", since)).transpose(),
    }
}

/// The kinds that someone is told of. What they may not hear of is left out, unless they ask for it by name.
fn kinds_for(bearer: &Bearer, asked: Option<&str>) -> Result<BTreeSet<Kind>, ApiError> {
    let Some(list) = asked else {
        let told = |kind: &Kind| bearer.may(Scope::People) || !kind.is_personal();
        return Ok(Kind::ALL.into_iter().filter(told).collect());
    };
    let kinds = kinds_of(list)?;
    if kinds.iter().any(|kind| kind.is_personal()) {
        bearer.require(Scope::People)?;
    }
    Ok(kinds)
}

fn kinds_of(list: &str) -> Result<BTreeSet<Kind>, ApiError> {
    let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.event() == name);
    list.split(',').map(kind).collect::<Option<_>>().ok_or_else(|| {
        let known = Kind::ALL.map(Kind::event).join(", ");
        invalid_value("kinds", &format!("must be a list out of {known}"))
    })
}

/// Someone who listens.
struct ChangeStream {
    watch: Watch,
    kinds: BTreeSet<Kind>,
    beat: Interval,
    /// The listener comes to its end.
    closing: LocalBoxFuture<'static, ()>,
    _place: OwnedSemaphorePermit,
}

impl ChangeStream {
    /// The next blocks, when there are any. Nothing at the end.
    async fn next(&mut self) -> Option<String> {
        let mut blocks = String::new();
        while blocks.is_empty() {
            tokio::select! {
                // What is there is told before the end.
                biased;
                // Whoever cannot be told any more comes back, and goes on where this ended.
                heard = self.watch.next() => self.write(heard.ok()?, &mut blocks),
                () = &mut self.closing => return None,
                _ = self.beat.tick() => blocks.push_str(":\n\n"),
            }
        }
        Some(blocks)
    }

    fn write(&self, heard: WatchEvent, blocks: &mut String) {
        // Writing to a string cannot fail.
        let _ = match heard {
            WatchEvent::Beginning(Revision(id)) => write!(blocks, "id: {id}\n\n"),
            WatchEvent::Reset(Revision(id)) => write!(blocks, "id: {id}\nevent: reset\ndata: {{}}\n\n"),
            WatchEvent::Changes(changes) => {
                let wanted = changes.iter().filter(|change| self.kinds.contains(&change.subject.kind()));
                wanted.for_each(|change| event(change, blocks));
                // What was left out is not looked at again by someone who goes on.
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

/// A change as a block.
fn event(change: &Change, blocks: &mut String) {
    let (name, parts) = (change.subject.kind().event(), change.subject.parts());
    let about: Map<_, _> =
        parts.into_iter().map(|(name, part)| (name.to_owned(), part.to_string().into())).collect();
    let _ = write!(blocks, "id: {}\nevent: {name}\ndata: {}\n\n", change.revision.0, Value::Object(about));
}
