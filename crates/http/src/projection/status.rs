//! The rendered status, except for the latency of a request.

use crate::{
    envelope,
    wire::{BuildInfo, Latency, Status},
};
use actix_web::web::Bytes;
use companion_domain::{
    model::Timestamp,
    rules::BotStatus,
    usecase::{Clusters, Moment},
};
use std::{ops::Range, sync::Arc, time::Duration};

/// Placeholder of the latency in the rendered status.
const NO_LATENCY: Latency = Latency { response: None, process: 0.0 };
/// Capacity reserved for a rendered latency.
const LATENCY_CAPACITY: usize = 96;

/// The rendered status before and after the latency.
pub(crate) struct RenderedStatus {
    /// The reports it was rendered from.
    clusters: Arc<Clusters>,
    /// The dates at which it reads the same.
    dates: Range<Timestamp>,
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
        bot: BotStatus,
        moment: Moment,
    ) -> Result<Self, serde_json::Error> {
        let (before, after) = split(&whole(build, &bot, NO_LATENCY)?, &serde_json::to_vec(&NO_LATENCY)?);
        let silent_at = bot.silence_in.map(|left| moment.monotonic.saturating_add(left));
        Ok(Self { clusters, dates: bot.dates, silent_at, before, after })
    }

    /// Whether it is still current for these clusters.
    pub(super) fn is_current(&self, clusters: &Arc<Clusters>, moment: Moment) -> bool {
        Arc::ptr_eq(&self.clusters, clusters)
            && self.dates.contains(&moment.now)
            && self.silent_at.is_none_or(|silent_at| moment.monotonic < silent_at)
    }

    /// Returns the response body with this latency.
    pub(crate) fn body(&self, latency: &Latency) -> Result<Bytes, serde_json::Error> {
        let Self { before, after, .. } = self;
        let mut body = Vec::with_capacity(before.len() + LATENCY_CAPACITY + after.len());
        body.extend_from_slice(before);
        serde_json::to_writer(&mut body, latency)?;
        body.extend_from_slice(after);
        Ok(body.into())
    }
}

fn whole(build: &BuildInfo, bot: &BotStatus, latency: Latency) -> Result<Bytes, serde_json::Error> {
    envelope::success("The service is online.", Status::from((build, bot, latency)))
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
    use crate::wire::Commit;
    use companion_domain::{
        model::{Megabytes, Number, Shard, ShardId},
        port::ChangeBatch,
        rules::Uptime,
    };
    use companion_testkit::clock::FixedClock;

    #[test]
    fn assembled_status_matches_the_serialiser() {
        let (clock, latency) = (FixedClock::default(), r#""latency":{"response":null,"process":0.0}"#);
        let number = Number::Integer(1_767_000_000);
        let shard = Shard { heartbeat_sent: number, heartbeat_acknowledged: number, latency: number };
        for text in ["", "ä\n", "\\\"}", latency, latency.trim_start_matches("\"latency\":")] {
            let text = || text.to_owned();
            let commit = Commit { sha: text(), message: text(), author: text(), timestamp: -1 };
            let build = BuildInfo { name: text(), branch: text(), commit };
            let bot = BotStatus {
                memory: Megabytes::new(128.5).unwrap(),
                shards: [(ShardId::new(0), shard)].into(),
                uptime: Uptime { since: Timestamp::from_seconds(1).unwrap(), readable: text() },
                silence_in: None,
                dates: Timestamp::EPOCH..Timestamp::EPOCH,
            };
            for response in [None, Some(-1500.25)] {
                let clusters = Clusters::after(None, Vec::new(), &ChangeBatch::Everything, &clock);
                let moment = Moment::of(&clock);
                let latency = || Latency { response, process: 0.082 };
                let rendered = RenderedStatus::new(&build, Arc::new(clusters), bot.clone(), moment).unwrap();
                assert_eq!(rendered.body(&latency()).unwrap(), whole(&build, &bot, latency()).unwrap());
            }
        }
    }
}
