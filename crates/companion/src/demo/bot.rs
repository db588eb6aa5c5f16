//! A bot that keeps reporting.

use companion_domain::{
    model::{ClusterId, Heartbeat, Invalid, Megabytes, Number, Shard, ShardId, Shards, Timestamp},
    port::{Clock, Entropy},
    usecase::Feed,
};
use std::{sync::Arc, time::Duration};

/// Often enough to never be silent.
const EVERY: Duration = Duration::from_secs(10);
/// How long the bot claims to have been up when the demo begins.
const UP_BEFORE: Duration = Duration::from_secs(3 * 24 * 60 * 60 + 4 * 60 * 60);
/// Name, megabytes, and shards of each cluster.
const CLUSTERS: [(&str, f64, [u32; 2]); 3] =
    [("north", 412.5, [0, 1]), ("east", 398.25, [2, 3]), ("west", 455.75, [4, 5])];
/// The shard that is unwell: slow, and behind with its acknowledgements.
const UNWELL: ShardId = ShardId::new(4);

/// A simulated bot.
pub struct SimulatedBot {
    feed: Arc<Feed>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    started_at: Timestamp,
}

impl SimulatedBot {
    /// A bot that has been up for a while and reports to this feed.
    pub fn new(feed: Arc<Feed>, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Result<Self, Invalid> {
        let started_at = Timestamp::from_seconds(clock.now().before(UP_BEFORE).seconds())?;
        Ok(Self { feed, clock, entropy, started_at })
    }

    /// Reports again and again.
    pub async fn keep_reporting(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.report().await {
                tracing::warn!("the simulated bot could not report: {error}");
            }
        }
    }

    /// Reports once, for every cluster.
    pub async fn report(&self) -> Result<(), super::SeedError> {
        for (name, megabytes, shards) in CLUSTERS {
            self.report_cluster(name.parse()?, megabytes, shards).await?;
        }
        Ok(())
    }

    async fn report_cluster(
        &self,
        cluster: ClusterId,
        megabytes: f64,
        shards: [u32; 2],
    ) -> Result<(), super::SeedError> {
        let now = self.clock.now();
        let shards = shards.into_iter().map(|id| Ok((ShardId::new(id), self.shard(ShardId::new(id), now)?)));
        let heartbeat = Heartbeat {
            cluster,
            memory: Megabytes::new(megabytes + f64::from(self.chance(64)) / 4.0)?,
            started_at: self.started_at,
            shards: Shards::new(shards.collect::<Result<_, Invalid>>()?)?,
            received_at: now,
        };
        self.feed.report(&heartbeat).await?;
        Ok(())
    }

    fn shard(&self, id: ShardId, now: Timestamp) -> Result<Shard, Invalid> {
        let unwell = id == UNWELL;
        let milliseconds = if unwell { 1900 } else { 40 } + u16::from(self.chance(30));
        let behind = Duration::from_secs(if unwell { 45 } else { 1 });
        let seconds = |at: Timestamp| Number::Integer(at.seconds());
        Ok(Shard {
            heartbeat_sent: seconds(now),
            heartbeat_acknowledged: seconds(now.before(behind)),
            latency: Number::fraction(f64::from(milliseconds) / 1000.0)?,
        })
    }

    /// A number below `limit`, so that no two reports look alike.
    fn chance(&self, limit: u8) -> u8 {
        let mut byte = [0];
        self.entropy.fill(&mut byte);
        byte.iter().fold(0, |_, byte| byte % limit)
    }
}
