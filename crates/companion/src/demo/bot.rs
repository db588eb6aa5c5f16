//! A simulated bot that reports periodically, and changes of the sample world while the demo runs.

use super::{
    ManagementClient, RequestError, snowflake,
    world::{MODERATOR, PROMOTION_GUILD, SampleRole, TRANSIENT_GUILD, guild_id, guilds, to_lines},
};
use companion_domain::{model::Timestamp, port::Clock};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Uptime that the bot reports when the demo begins.
const INITIAL_UPTIME: Duration = Duration::from_secs(3 * 24 * 60 * 60 + 4 * 60 * 60);
/// Name, memory in megabytes, and shards of each cluster.
const CLUSTERS: [(&str, f64, [u32; 2]); 3] =
    [("north", 412.5, [0, 1]), ("east", 398.25, [2, 3]), ("west", 455.75, [4, 5])];
/// The clusters fall silent in turn: number of reports per turn.
const REPORTS_PER_TURN: usize = 36;
/// Reports of a turn in which the cluster is silent.
const SILENT_REPORTS: std::ops::Range<usize> = 12..21;
/// The unhealthy shard: high latency, and an old heartbeat.
const UNHEALTHY_SHARD: u32 = 4;

/// Sends heartbeats of every cluster periodically, as a bot does.
pub(super) struct SimulatedBot {
    api: ManagementClient,
    clock: Arc<dyn Clock>,
    started_at: Timestamp,
}

impl SimulatedBot {
    /// Creates a bot that reports to this API and claims to have been up for a while.
    pub(super) fn new(api: ManagementClient, clock: Arc<dyn Clock>) -> Self {
        let started_at = clock.now().before(INITIAL_UPTIME);
        Self { api, clock, started_at }
    }

    /// Reports at this interval. Never returns.
    pub(super) async fn keep_reporting(self, every: Duration) {
        for number in 1.. {
            tokio::time::sleep(every).await;
            if let Err(error) = self.report(number).await {
                tracing::warn!("the simulated bot could not report: {error}");
            }
        }
    }

    /// Sends the report with this number, which varies a little from the one before.
    pub(super) async fn report(&self, number: usize) -> Result<(), RequestError> {
        let silent = silent_at(number);
        for (name, megabytes, shards) in CLUSTERS.into_iter().filter(|(name, ..)| silent != Some(name)) {
            let path = format!("/bot/clusters/{name}/heartbeat");
            self.api.send("PUT", &path, &self.heartbeat(megabytes, shards, number).to_string()).await?;
        }
        Ok(())
    }

    fn heartbeat(&self, megabytes: f64, shards: [u32; 2], number: usize) -> Value {
        let shards: serde_json::Map<_, _> =
            shards.into_iter().map(|id| (id.to_string(), self.shard(id, number))).collect();
        json!({
            "memory": megabytes + (number * 7 % 64) as f64 / 4.0,
            "started_at": self.started_at.seconds(),
            "shards": shards,
            "shard_count": CLUSTERS.iter().map(|(_, _, shards)| shards.len()).sum::<usize>(),
            "sent_at": self.clock.now().since(Timestamp::EPOCH).as_secs_f64(),
        })
    }

    fn shard(&self, id: u32, number: usize) -> Value {
        let (milliseconds, ago) = if id == UNHEALTHY_SHARD { (1900, 45) } else { (40, 1) };
        let latency = Duration::from_millis(milliseconds + (number * 7 % 30) as u64 + u64::from(id));
        let sent = self.clock.now().before(Duration::from_secs(ago));
        let seconds = |time: Timestamp| time.since(Timestamp::EPOCH).as_secs_f64();
        json!({
            "heartbeatSent": seconds(sent),
            "heartbeatAcknowledged": seconds(sent.after(latency)),
            "latency": latency.as_millis(),
        })
    }
}

/// Returns the cluster that is silent in this report, if any.
fn silent_at(number: usize) -> Option<&'static str> {
    let next = CLUSTERS.iter().cycle().nth(number / REPORTS_PER_TURN).map(|(name, ..)| *name);
    next.filter(|_| SILENT_REPORTS.contains(&(number % REPORTS_PER_TURN)))
}

/// Number of steps in a cycle. In the second half the bot has joined the guild that it joins and leaves, and the
/// moderator is promoted.
const STEPS_PER_CYCLE: u64 = 10;

/// Changes the sample world at this interval. The initial data of the sample users stays, so that each of them always
/// has something to see. Never returns.
pub(super) async fn keep_moving(api: ManagementClient, cdn: String, every: Duration) {
    for step in (1..=STEPS_PER_CYCLE).cycle() {
        tokio::time::sleep(every).await;
        if let Err(error) = make_step(&api, &cdn, step).await {
            tracing::warn!("the sample world could not move: {error}");
        }
    }
}

/// Sends a step as one sync, so that readers never see half of it.
async fn make_step(api: &ManagementClient, cdn: &str, step: u64) -> Result<(), RequestError> {
    let second_half = step > STEPS_PER_CYCLE / 2;
    if !second_half {
        api.send("DELETE", &format!("/bot/guilds/{}", guild_id(TRANSIENT_GUILD)), "").await?;
    }
    let mut records = guilds(cdn, step, second_half);
    let roles: Vec<_> = second_half.then(|| SampleRole::Moderator.id()).into_iter().collect();
    let (guild, user) = (guild_id(PROMOTION_GUILD).to_string(), snowflake(MODERATOR).to_string());
    records.push(json!({"kind": "member", "guild": guild, "user": user, "roles": roles}));
    api.send("POST", "/bot/sync", &to_lines(records)).await
}

/// Intervals of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two reports of the bot.
    pub report: Duration,
    /// Between two steps of the world.
    pub step: Duration,
}

impl Default for Pace {
    /// Reports often enough to keep clusters alive, and slowly enough to follow the steps.
    fn default() -> Self {
        Self { report: Duration::from_secs(5), step: Duration::from_secs(4) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_fall_silent_in_turn_and_recover() {
        let silent: Vec<_> = (0..3 * REPORTS_PER_TURN).map(silent_at).collect();
        assert!(silent[..12].iter().all(Option::is_none), "a demo begins well");
        let mut turns: Vec<_> = silent.iter().flatten().collect();
        assert_eq!(turns.len(), 3 * SILENT_REPORTS.len());
        turns.dedup();
        assert_eq!(turns, [&"north", &"east", &"west"]);
    }
}
