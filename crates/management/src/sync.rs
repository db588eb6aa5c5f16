//! `POST /bot/sync`: a world of any size, applied as one change. Its query says what it replaces.

use crate::request::{Call, Changes, Query, invalid_value, number};
use actix_web::{HttpResponse, dev::Payload, rt};
use async_trait::async_trait;
use companion_domain::{
    change::Kind,
    model::Roster,
    port::{InvalidLineError, Numbered, RecordSource, Replace, ShardSlice, SourceError, SyncError},
};
use companion_http::{ApiError, openapi::failure};
use companion_records::{Accepted, Lines, SyncLine};
use futures_util::StreamExt as _;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{self, Sender},
    time::timeout,
};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// Idle timeout of the stream. Time in which the store applies backpressure does not count.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Batches in flight: enough to keep both sides busy, few enough to bound memory.
const CAPACITY: usize = 4;

/// A batch of records, `None` at the end of a complete stream, or the error that ends it.
type Message = Result<Option<Vec<Numbered>>, InvalidLineError>;

/// The receiver, read by the store. A stream that ends without `None` is an error: a partial world must not be stored.
struct RecordReceiver(mpsc::Receiver<Message>);

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
    responses((status = 200, description = "The stream is applied.", body = Changes), failure::Feeding)
)]
pub(crate) async fn sync(call: Call<Payload>) -> Result<HttpResponse, ApiError> {
    let replace = replacement(call.request.query_string())?;
    let lines = Lines::new(Accepted::World);
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let mut records = RecordReceiver(receiver);
    let (feed, audit) = (Arc::clone(&call.context.use_cases.feed), call.audit("sync"));
    // The store runs in its own task: if the client disconnects, the stream ends early and the sync is rolled back.
    let applied = rt::spawn(async move {
        let applied = feed.sync(&replace, &mut records).await.map_err(refused);
        audit.concluded(applied.as_ref());
        applied
    });
    let delivered = deliver(call.body, lines, sender).await;
    let applied = applied.await.map_err(|panic| ApiError::Internal(panic.into()))?;
    delivered?;
    Changes::answer(applied?)
}

/// Forwards lines as they arrive, so that only a few chunks of the stream are in memory. Returns early if the store has
/// stopped reading.
async fn deliver(mut body: Payload, mut lines: Lines, sender: Sender<Message>) -> Result<(), ApiError> {
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

/// Selects most kinds; outlines are sent by themselves.
const ALL: &str = "all";

/// Returns the kinds that can be replaced, by name.
fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    Kind::ALL.into_iter().filter_map(|kind| Some((kind.replaced()?, kind)))
}

/// The name of a kind, for the OpenAPI document.
pub(crate) enum KindName {}

impl PartialSchema for KindName {
    fn schema() -> RefOr<Schema> {
        let names: Vec<_> = [ALL].into_iter().chain(kinds().map(|(name, _)| name)).collect();
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).into()
    }
}

impl ToSchema for KindName {}

/// The query parameters, for the OpenAPI document.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes the query that `replacement` parses")]
pub(crate) struct Replacement {
    /// Kinds whose records are removed if the stream omits them. Without it, none are removed.
    #[param(style = Form, explode = false, inline, min_items = 1)]
    replace: Option<Vec<KindName>>,
    /// Replace only guilds and members of this shard; must be below `shards`.
    #[param(minimum = 0, maximum = 4_294_967_295_u32)]
    shard: Option<u64>,
    /// Number of shards of the bot.
    #[param(minimum = 1, maximum = 4_294_967_295_u32)]
    shards: Option<u64>,
}

/// Parses `replace`, `shard` and `shards`.
pub(crate) fn replacement(query: &str) -> Result<Replace, ApiError> {
    let query = Query::read(query, &["replace", "shard", "shards"])?;
    let kinds = query.text("replace").map(kinds_of).transpose()?.unwrap_or_default();
    Ok(Replace { kinds, shard: shard_slice(&query)? })
}

/// Parses `shard` and `shards`.
pub(crate) fn shard_slice(query: &Query) -> Result<Option<ShardSlice>, ApiError> {
    let expected = "must be a whole number from 0 to 4294967295";
    let number = |name| query.text(name).map(|value| number(name, value, expected)).transpose();
    let missing = |name| Err(invalid_value(name, "is missing: shard and shards go together"));
    match (number("shard")?, number("shards")?) {
        (None, None) => Ok(None),
        (Some(index), Some(count)) => ShardSlice::new(index, count)
            .map(Some)
            .ok_or_else(|| invalid_value("shard", "must be below shards")),
        (Some(_), None) => missing("shards"),
        (None, Some(_)) => missing("shard"),
    }
}

fn kinds_of(list: &str) -> Result<BTreeSet<Kind>, ApiError> {
    let mut kinds = BTreeSet::new();
    for name in list.split(',') {
        let named: Vec<_> = self::kinds()
            .filter(|(known, kind)| *known == name || (name == ALL && kind.is_replaced_with_all()))
            .map(|(_, kind)| kind)
            .collect();
        if named.is_empty() {
            let known: Vec<_> = self::kinds().map(|(known, _)| known).collect();
            return Err(invalid_value(
                "replace",
                &format!("must be all, or a list out of {}", known.join(", ")),
            ));
        }
        kinds.extend(named);
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(query: &str) -> String {
        match replacement(query) {
            Err(ApiError::InputInvalid(fields)) => fields[0].path.clone(),
            other => panic!("{query}: {other:?}"),
        }
    }

    #[test]
    fn parses_a_list_of_kinds_or_all() {
        assert_eq!(replacement("").unwrap(), Replace::default());
        for query in ["replace=guilds,plus", "replace=plus%2Cguilds", "replace=plus,guilds,plus"] {
            assert_eq!(replacement(query).unwrap().kinds, [Kind::Guild, Kind::Subscription].into());
        }
        for query in
            ["replace=all", "replace=all,team", "replace=guilds,members,plus,staff,team,feedback,blocked"]
        {
            let kinds = replacement(query).unwrap().kinds;
            assert_eq!(kinds.len(), 7, "{query}");
            let never = [Kind::Cluster, Kind::Session, Kind::Grant];
            assert!(never.iter().all(|kind| !kinds.contains(kind)), "{query}");
        }
        for query in [
            "replace=",
            "replace=guild",
            "replace=guilds,",
            "replace=ALL",
            "replace=sessions",
            "replace=guilds&replace=team",
        ] {
            assert_eq!(problem(query), "replace", "{query}");
        }
    }

    #[test]
    fn requires_shard_and_shards_together() {
        assert_eq!(replacement("replace=all&shard=1&shards=2").unwrap().shard, ShardSlice::new(1, 2));
        for (query, wrong) in [
            ("shard=1", "shards"),
            ("shards=1", "shard"),
            ("shard=2&shards=2", "shard"),
            ("shard=0&shards=0", "shard"),
            ("shard=-1&shards=2", "shard"),
            ("shard=%2B1&shards=2", "shard"),
            ("shard=&shards=2", "shard"),
            ("shard=0&shards=x", "shards"),
            ("shard=0&shards=4294967296", "shards"),
            ("shard=0&shard=1&shards=2", "shard"),
            ("replaces=all", "replaces"),
        ] {
            assert_eq!(problem(query), wrong, "{query}");
        }
    }
}
