//! The health of the bot: the state of each shard, the worst of which is the bot's.

use super::status::{LastHeard, by_liveness};
use crate::{
    model::{ClusterId, GuildId, Heartbeat, Shard, ShardCount, ShardId, Span, Timestamp},
    named::named,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    time::Duration,
};

/// Age of an acknowledgement, in seconds, above which a shard is stale.
const STALE_AFTER: f64 = 60.0;
/// Latency in milliseconds above which a shard is slow.
const SLOW_ABOVE: f64 = 1000.0;

named! {
    /// The state of a shard, from the best to the worst.
    ShardState {
        /// It answers in time.
        Ok = "ok",
        /// It answers, but clusters disagree on the number of shards, so others may be missing.
        Unknown = "unknown",
        /// Its latency is high.
        Slow = "slow",
        /// The platform has not acknowledged its heartbeats for a while.
        Stale = "stale",
        /// It should exist, and no live cluster reports it.
        Missing = "missing",
        /// No cluster is live.
        Silent = "silent",
    }
}

impl ShardState {
    /// Judges a shard by its report, if clusters agree on the number of shards.
    fn of(shard: &Shard, report: &Heartbeat) -> Self {
        let seconds = |time: Timestamp| time.micros() as f64 / 1e6;
        let sent_at = report.sent_at.map_or_else(|| seconds(report.received_at), |sent_at| sent_at.as_f64());
        if sent_at - shard.heartbeat_acknowledged.as_f64() > STALE_AFTER {
            Self::Stale
        } else if shard.latency.as_f64() > SLOW_ABOVE {
            Self::Slow
        } else {
            Self::Ok
        }
    }
}

/// The health of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotHealth {
    /// The worst state of all shards: [`ShardState::Silent`] if no cluster is live.
    pub state: ShardState,
    /// The state of each known shard.
    pub shards: BTreeMap<ShardId, ShardState>,
    /// The number of shards that the live clusters agree on, if any states it.
    pub shard_count: Option<NonZeroU32>,
    /// Silent clusters whose shards no other cluster has taken over.
    pub silent: Vec<ClusterId>,
    /// Silent clusters whose shards are all in live reports, with the arrival time of their last report. They no longer
    /// count, and can be removed.
    pub retired: Vec<(ClusterId, Timestamp)>,
    /// Number of live clusters.
    pub live: usize,
    /// Time since the most recent report of any cluster.
    pub last_heard: Option<Duration>,
}

impl BotHealth {
    /// Judges the bot by the last reports of its clusters.
    #[must_use]
    pub fn of(clusters: impl IntoIterator<Item = LastHeard>, silent_after: Span) -> Self {
        let (live, quiet) = by_liveness(clusters, silent_after);
        let last_heard = live.iter().chain(&quiet).map(|heard| heard.silent_for).min();
        let mut shards: BTreeMap<_, _> = live
            .iter()
            .flat_map(|LastHeard { report, .. }| {
                report.shards.iter().map(|(id, shard)| (id, ShardState::of(&shard, report)))
            })
            .collect();
        let is_taken_over = |LastHeard { report, .. }: &LastHeard| {
            !report.shards.is_empty() && report.shards.iter().all(|(id, _)| shards.contains_key(&id))
        };
        let (retired, silent): (Vec<_>, Vec<_>) = quiet.into_iter().partition(is_taken_over);
        let counts: BTreeSet<_> = live.iter().filter_map(|heard| heard.report.shard_count).collect();
        let shard_count = if counts.len() == 1 { counts.first().copied().map(ShardCount::get) } else { None };
        if live.is_empty() {
            let last_known = silent.iter().flat_map(|heard| heard.report.shards.iter());
            shards = last_known.map(|(id, _)| (id, ShardState::Silent)).collect();
        } else if counts.len() > 1 {
            shards.values_mut().for_each(|state| *state = (*state).max(ShardState::Unknown));
        }
        for id in 0..shard_count.map_or(0, NonZeroU32::get) {
            shards.entry(ShardId::new(id)).or_insert(ShardState::Missing);
        }
        let worst = shards.values().max().copied().unwrap_or(ShardState::Ok);
        Self {
            state: if live.is_empty() { ShardState::Silent } else { worst },
            shards,
            shard_count,
            silent: silent.iter().map(|heard| heard.report.cluster.clone()).collect(),
            retired: retired.iter().map(LastHeard::arrival).collect(),
            live: live.len(),
            last_heard,
        }
    }

    /// Returns the number of shards in a state.
    #[must_use]
    pub fn count(&self, state: ShardState) -> usize {
        self.shards.values().filter(|other| **other == state).count()
    }

    /// Returns the shard of a guild with its state, if the number of shards is known.
    #[must_use]
    pub fn shard_of(&self, guild: GuildId) -> Option<(ShardId, ShardState)> {
        let shard = ShardId::new(guild.shard(self.shard_count?));
        self.shards.get(&shard).map(|state| (shard, *state))
    }

    /// Returns one sentence that names the worst, without its full stop: `2 of 16 shards are missing`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let concerned: Vec<_> = self.shards.iter().filter(|(_, state)| **state == self.state).collect();
        let (of_all, state) = (self.shards.len(), self.state.as_str());
        match (self.state, &*concerned, &*self.silent) {
            (ShardState::Silent, ..) => "The bot is silent".to_owned(),
            (ShardState::Ok, _, [cluster]) => format!("Cluster {cluster} is silent"),
            (ShardState::Ok, _, [_, _, ..]) => format!("{} clusters are silent", self.silent.len()),
            (ShardState::Ok, [], []) => "The bot is online".to_owned(),
            (ShardState::Ok, [_], []) => "The bot is online with one shard".to_owned(),
            (ShardState::Ok, all, []) => format!("All {} shards are online", all.len()),
            (ShardState::Unknown, ..) => "Clusters disagree on the number of shards".to_owned(),
            (_, [(shard, _)], _) => format!("Shard {shard} is {state}"),
            (_, several, _) => format!("{} of {of_all} shards are {state}", several.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Megabytes, Number, Shards};
    use std::{sync::Arc, time::Duration};

    const NOW: i64 = 1_700_000_000;

    /// A report: its cluster, age in seconds, number of shards, and shards with latency and age of the acknowledgement.
    type Reported<'a> = (&'a str, u64, Option<u64>, &'a [(u32, i64, i64)]);

    fn heard((id, silent_for, count, shards): Reported<'_>) -> LastHeard {
        let shard = |(id, latency, age): &(u32, i64, i64)| {
            let shard = Shard {
                heartbeat_sent: Number::Integer(0),
                heartbeat_acknowledged: Number::Integer(NOW - age),
                latency: Number::Integer(*latency),
            };
            (ShardId::new(*id), shard)
        };
        let report = Heartbeat {
            cluster: id.parse().unwrap(),
            memory: Megabytes::ZERO,
            started_at: Timestamp::EPOCH,
            shards: Shards::new(shards.iter().map(shard).collect()).unwrap(),
            shard_count: count.map(|count| ShardCount::new(count).unwrap()),
            sent_at: None,
            received_at: Timestamp::from_seconds(NOW).unwrap(),
        };
        let silent_for = Duration::from_secs(silent_for);
        LastHeard { report: Arc::new(report), silent_for, watched_for: silent_for }
    }

    fn health(reports: &[Reported<'_>]) -> BotHealth {
        BotHealth::of(reports.iter().copied().map(heard), Span::from_seconds(90))
    }

    #[test]
    fn one_sentence_names_the_worst() {
        let cases: [(&[Reported<'_>], &str); 14] = [
            (&[], "The bot is silent"),
            (&[("a", 90, Some(1), &[(0, 1, 1)])], "The bot is silent"),
            (&[("a", 89, None, &[])], "The bot is online"),
            (&[("a", 0, Some(1), &[(0, 1000, 60)])], "The bot is online with one shard"),
            (&[("a", 0, Some(2), &[(0, 1, 1), (1, 1, 1)])], "All 2 shards are online"),
            (&[("a", 0, Some(2), &[(0, 1, 1), (1, 1001, 1)])], "Shard 1 is slow"),
            (&[("a", 0, Some(2), &[(0, 1900, 1), (1, 1001, 1)])], "2 of 2 shards are slow"),
            (&[("a", 0, Some(2), &[(0, 1900, 1), (1, 1, 61)])], "Shard 1 is stale"),
            (&[("a", 0, Some(3), &[(0, 1900, 61)])], "2 of 3 shards are missing"),
            (&[("a", 0, None, &[(0, 1, 1)])], "The bot is online with one shard"),
            (&[("a", 0, Some(1), &[(0, 1, 1)]), ("b", 0, None, &[])], "The bot is online with one shard"),
            (
                &[("a", 0, Some(1), &[(0, 1, 1)]), ("b", 0, Some(4), &[])],
                "Clusters disagree on the number of shards",
            ),
            (&[("a", 0, None, &[(0, 1, 1)]), ("b", 90, None, &[(1, 1, 1)])], "Cluster b is silent"),
            (&[("a", 0, Some(2), &[(0, 1, 1)]), ("b", 90, Some(2), &[(1, 1, 1)])], "Shard 1 is missing"),
        ];
        for (reports, sentence) in cases {
            assert_eq!(health(reports).sentence(), sentence);
        }
    }

    #[test]
    fn a_silent_cluster_is_retired_once_others_report_its_shards() {
        let live: Reported<'_> = ("new", 0, None, &[(0, 1, 1), (1, 1, 1)]);
        let outcome = |old: Reported<'_>| {
            let health = health(&[live, old]);
            (health.silent.len(), health.retired.len())
        };
        assert_eq!(outcome(("old", 90, None, &[(0, 1, 1)])), (0, 1));
        assert_eq!(outcome(("old", 90, None, &[(0, 1, 1), (2, 1, 1)])), (1, 0));
        assert_eq!(outcome(("old", 90, None, &[])), (1, 0), "it had no shards");
        assert_eq!(outcome(("old", 89, None, &[(0, 1, 1)])), (0, 0), "it is live");
    }

    #[test]
    fn staleness_is_measured_by_the_clock_of_the_bot() {
        let mut last = heard(("a", 0, None, &[(0, 1, 7200)]));
        let sent = |sent_at: Option<f64>, last: &mut LastHeard| {
            let report = Arc::make_mut(&mut last.report);
            report.sent_at = sent_at.map(|seconds| Number::fraction(seconds).unwrap());
            BotHealth::of([last.clone()], Span::from_seconds(90)).state
        };
        assert_eq!(sent(None, &mut last), ShardState::Stale);
        assert_eq!(sent(Some((NOW - 7200 + 60) as f64), &mut last), ShardState::Ok);
        assert_eq!(sent(Some((NOW - 7200) as f64 + 60.5), &mut last), ShardState::Stale);
    }

    #[test]
    fn a_guild_has_a_shard_once_the_count_is_known() {
        let guild = GuildId::new(3 << 22).unwrap();
        assert_eq!(health(&[("a", 0, None, &[(0, 1, 1)])]).shard_of(guild), None);
        let known = health(&[("a", 0, Some(2), &[(0, 1, 1)])]);
        assert_eq!(known.shard_of(guild), Some((ShardId::new(1), ShardState::Missing)));
    }
}
