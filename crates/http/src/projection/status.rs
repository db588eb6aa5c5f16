//! The rendered status, except for the latency of a request.

use crate::{build_info::BuildInfo, envelope, wire};
use actix_web::web::Bytes;
use companion_domain::{
    rules::{BotStatus, Holds},
    usecase::{Clusters, Moment},
};
use std::{sync::Arc, time::Duration};

/// Placeholder of the latency in the rendered status.
const NO_LATENCY: wire::Latency = wire::Latency { response: None, process: 0.0 };
/// Capacity reserved for a rendered latency.
const LATENCY_CAPACITY: usize = 96;

/// The rendered status before and after the latency.
pub(crate) struct RenderedStatus {
    /// The reports it was rendered from.
    clusters: Arc<Clusters>,
    holds: Holds,
    /// When the next cluster counts as silent, in monotonic time.
    silent_at: Option<Duration>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl RenderedStatus {
    /// Renders the status of these clusters at this moment.
    pub(super) fn new(
        build: &BuildInfo,
        clusters: Arc<Clusters>,
        (bot, holds): (BotStatus, Holds),
        moment: Moment,
    ) -> Result<Self, serde_json::Error> {
        let (before, after) = split(&whole(build, &bot, NO_LATENCY)?, &serde_json::to_vec(&NO_LATENCY)?);
        let silent_at = holds.silence_in.map(|left| moment.monotonic.saturating_add(left));
        Ok(Self { clusters, holds, silent_at, before, after })
    }

    /// Whether it is still current for these clusters.
    pub(super) fn is_current(&self, clusters: &Arc<Clusters>, moment: Moment) -> bool {
        Arc::ptr_eq(&self.clusters, clusters)
            && self.holds.dates.contains(&moment.now)
            && self.silent_at.is_none_or(|silent_at| moment.monotonic < silent_at)
    }

    /// Returns the response body with this latency.
    pub(crate) fn body(&self, latency: &wire::Latency) -> Result<Bytes, serde_json::Error> {
        let Self { before, after, .. } = self;
        let mut body = Vec::with_capacity(before.len() + LATENCY_CAPACITY + after.len());
        body.extend_from_slice(before);
        serde_json::to_writer(&mut body, latency)?;
        body.extend_from_slice(after);
        Ok(body.into())
    }
}

fn whole(build: &BuildInfo, bot: &BotStatus, latency: wire::Latency) -> Result<Bytes, serde_json::Error> {
    let status = wire::Status {
        version: build.into(),
        resources: wire::Resources { memory: bot.memory.get() },
        health: wire::Health { api: wire::Api { latency }, bot: bot.into() },
    };
    envelope::success("The service is online.", status)
}

/// Splits `whole` around the first occurrence of `object`. No string in a status can contain it, because its quotes
/// would be escaped.
fn split(whole: &[u8], object: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let at = whole.windows(object.len()).position(|window| window == object).unwrap_or(whole.len());
    let (before, rest) = whole.split_at_checked(at).unwrap_or((whole, &[]));
    (before.to_vec(), rest.get(object.len()..).unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{
        model::{Megabytes, Number, Shard, ShardId, Timestamp},
        port::ChangeBatch,
        rules::Uptime,
    };
    use companion_testkit::clock::FixedClock;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Number> {
        let fraction = any::<f64>().prop_filter_map("finite", |fraction| {
            serde_json::Number::from_f64(fraction).map(|_| Number::fraction(fraction).unwrap())
        });
        prop_oneof![any::<i64>().prop_map(Number::Integer), fraction]
    }

    fn bot() -> impl Strategy<Value = BotStatus> {
        let shard = (number(), number(), number()).prop_map(|(sent, acknowledged, latency)| Shard {
            heartbeat_sent: sent,
            heartbeat_acknowledged: acknowledged,
            latency,
        });
        let shards = proptest::collection::btree_map(any::<u32>().prop_map(ShardId::new), shard, 0..5);
        (0.0..1e6_f64, shards, 0..=Timestamp::MAX_SECONDS, any::<String>()).prop_map(
            |(memory, shards, since, readable)| BotStatus {
                memory: Megabytes::new(memory).unwrap(),
                shards,
                uptime: Uptime { since: Timestamp::from_seconds(since).unwrap(), readable },
            },
        )
    }

    fn build() -> impl Strategy<Value = BuildInfo> {
        let tricky = prop_oneof![
            any::<String>(),
            Just(r#"{"response":null,"process":0.0}"#.to_owned()),
            Just(r#""latency":{"response":null,"process":0.0}"#.to_owned()),
        ];
        (tricky, any::<String>(), any::<i64>()).prop_map(|(message, author, timestamp)| BuildInfo {
            name: "1.2.3".to_owned(),
            branch: message.clone(),
            sha: message.clone(),
            message,
            author,
            timestamp,
        })
    }

    proptest! {
        #[test]
        fn assembled_status_matches_the_serialiser(
            build in build(), bot in bot(), response in proptest::option::of(-1e12..1e12_f64), process in 0.0..1e9_f64,
        ) {
            let clock = FixedClock::default();
            let clusters = Arc::new(Clusters::after(None, Vec::new(), &ChangeBatch::Everything, &clock));
            let holds = Holds::of(&bot, [], Moment::of(&clock).now, companion_domain::model::Span::from_seconds(90));
            let latency = || wire::Latency { response, process };
            let rendered =
                RenderedStatus::new(&build, clusters, (bot.clone(), holds), Moment::of(&clock)).unwrap();
            prop_assert_eq!(rendered.body(&latency()).unwrap(), whole(&build, &bot, latency()).unwrap());
        }
    }
}
