//! The status of the bot, aggregated from the reports of its clusters.

use crate::model::{ClusterId, Heartbeat, Megabytes, Shard, ShardId, Span, Timestamp};
use std::{cmp::Reverse, collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

/// How long a silent cluster is kept. It stops counting much earlier.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The last report of a cluster, and how long ago it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct LastHeard {
    /// The report.
    pub report: Arc<Heartbeat>,
    /// How long ago the report arrived.
    pub silent_for: Duration,
    /// How much of that time this process has been running.
    pub watched_for: Duration,
}

impl LastHeard {
    /// Returns whether the cluster counts: it is silent once `silent_after` has passed since its last report arrived,
    /// whatever any clock says.
    #[must_use]
    pub fn is_live(&self, silent_after: Span) -> bool {
        self.silent_for < silent_after.get()
    }

    /// Returns whether the cluster can be removed, because it is silent for long and this process has seen that it is.
    #[must_use]
    pub fn is_forgotten(&self, silent_after: Span) -> bool {
        self.silent_for >= FORGET_AFTER && self.watched_for >= silent_after.get()
    }

    /// Returns the cluster and the arrival time of its report, which tell whether it has reported since.
    #[must_use]
    pub fn arrival(&self) -> (ClusterId, Timestamp) {
        (self.report.cluster.clone(), self.report.received_at)
    }
}

/// The state of the bot as a whole, and how long it stays valid without a new report: time alone makes clusters silent and
/// the uptime grow.
#[derive(Debug, Clone, PartialEq)]
pub struct BotStatus {
    /// Memory of all live clusters, with two decimals.
    pub memory: Megabytes,
    /// The shards of all live clusters.
    pub shards: BTreeMap<ShardId, Shard>,
    /// The bot's uptime.
    pub uptime: Uptime,
    /// Time until a live cluster becomes silent. `None` if none is live.
    pub silence_in: Option<Duration>,
    /// The dates at which the uptime has the same wording.
    pub dates: Range<Timestamp>,
}

/// How long the bot has been up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uptime {
    /// When the first of the live clusters started. The epoch if none is live.
    pub since: Timestamp,
    /// The time since then in words.
    pub readable: String,
}

/// Aggregates the live clusters. If two report the same shard, the later report wins.
#[must_use]
pub fn bot_status(
    clusters: impl IntoIterator<Item = LastHeard>,
    now: Timestamp,
    silent_after: Span,
) -> BotStatus {
    let (live, _) = by_liveness(clusters, silent_after);
    let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
    let (uptime, dates) = match live.iter().map(|heard| heard.report.started_at).min() {
        Some(since) => {
            let length = now.since(since);
            let Range { start, end } = equal_wording(length);
            // Before the start the uptime reads as zero, too.
            let begin = if start.is_zero() { first } else { since.after(start) };
            (Uptime { since, readable: in_words(length) }, begin..since.after(end))
        }
        None => (Uptime { since: Timestamp::EPOCH, readable: "not reporting".to_owned() }, first..last),
    };
    BotStatus {
        memory: Megabytes::sum(live.iter().map(|heard| heard.report.memory)),
        shards: live.iter().flat_map(|heard| heard.report.shards.iter()).collect(),
        uptime,
        silence_in: live.iter().map(|heard| silent_after.get().saturating_sub(heard.silent_for)).min(),
        dates,
    }
}

/// Returns the live clusters, the latest report last, and the silent ones.
pub(super) fn by_liveness(
    clusters: impl IntoIterator<Item = LastHeard>,
    silent_after: Span,
) -> (Vec<LastHeard>, Vec<LastHeard>) {
    let (mut live, silent): (Vec<_>, Vec<_>) =
        clusters.into_iter().partition(|heard| heard.is_live(silent_after));
    // Among reports received at the same moment, the dates are the best guess.
    live.sort_by_cached_key(|heard| {
        (Reverse(heard.silent_for), heard.report.received_at, heard.report.cluster.clone())
    });
    (live, silent)
}

/// Returns a duration in words: `3 days, 4 hours and 12 minutes`. Seconds are shown only below a minute.
#[must_use]
pub fn in_words(length: Duration) -> String {
    let seconds = length.as_secs();
    let units = [("day", seconds / 86_400), ("hour", seconds / 3600 % 24), ("minute", seconds / 60 % 60)];
    let parts: Vec<_> =
        units.iter().filter(|(_, count)| *count > 0).map(|(unit, count)| counted(*count, unit)).collect();
    match parts.split_last() {
        None => counted(seconds, "second"),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns the durations with the same wording as this one.
pub(super) fn equal_wording(length: Duration) -> Range<Duration> {
    let seconds = length.as_secs();
    let grain = if seconds < 60 { 1 } else { 60 };
    let begin = seconds / grain * grain;
    Duration::from_secs(begin)..Duration::from_secs(begin.saturating_add(grain))
}

fn counted(count: u64, unit: &str) -> String {
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Number, Shards};
    use proptest::prelude::*;

    const SILENT_AFTER: Span = Span::from_seconds(90);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    fn cluster(
        id: &str,
        memory: f64,
        started: i64,
        received: Timestamp,
        shards: &[(u32, i64)],
    ) -> Arc<Heartbeat> {
        let shard = |latency| Shard {
            heartbeat_sent: Number::Integer(1),
            heartbeat_acknowledged: Number::Integer(2),
            latency: Number::Integer(latency),
        };
        Arc::new(Heartbeat {
            cluster: id.parse().unwrap(),
            memory: Megabytes::new(memory).unwrap(),
            started_at: at(started),
            shards: Shards::new(shards.iter().map(|(id, l)| (ShardId::new(*id), shard(*l))).collect())
                .unwrap(),
            shard_count: None,
            sent_at: None,
            received_at: received,
        })
    }

    fn heard(report: Arc<Heartbeat>, silent_for: Duration) -> LastHeard {
        LastHeard { report, silent_for, watched_for: silent_for }
    }

    /// Computes the status, taking the age of each report from its date.
    fn status_of(clusters: &[Arc<Heartbeat>], now: Timestamp) -> BotStatus {
        let heard = clusters.iter().map(|report| heard(report.clone(), now.since(report.received_at)));
        bot_status(heard, now, SILENT_AFTER)
    }

    #[test]
    fn sums_live_clusters_and_takes_the_earliest_start() {
        let clusters = [
            cluster("a", 100.004, 5_000, at(10_000), &[(0, 10), (1, 11)]),
            cluster("b", 50.1, 4_000, at(10_001), &[(2, 12)]),
        ];
        let status = status_of(&clusters, at(10_060));
        assert_eq!(status.memory.get(), 150.1);
        assert_eq!(status.shards.keys().map(|id| id.get()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(status.uptime, Uptime { since: at(4_000), readable: "1 hour and 41 minutes".to_owned() });
    }

    #[test]
    fn a_cluster_counts_until_it_is_silent() {
        let clusters = [cluster("a", 1.0, 0, at(1_000), &[(0, 1)])];
        let last = Timestamp::from_micros(at(1_090).micros() - 1);
        assert_eq!(status_of(&clusters, last).shards.len(), 1);
        let silent = status_of(&clusters, at(1_090));
        assert_eq!(silent.memory, Megabytes::ZERO);
        assert!(silent.shards.is_empty());
        assert_eq!(silent.uptime, Uptime { since: Timestamp::EPOCH, readable: "not reporting".to_owned() });
    }

    #[test]
    fn silence_decides_and_dates_do_not() {
        let heard = |report, seconds| heard(report, Duration::from_secs(seconds));
        let (future, past) =
            (cluster("a", 1.0, 0, at(9_000), &[(7, 1)]), cluster("b", 2.0, 0, at(1), &[(7, 2)]));
        let status = bot_status([heard(future.clone(), 2), heard(past.clone(), 1)], at(1_000), SILENT_AFTER);
        assert_eq!(status.memory.get(), 3.0);
        assert_eq!(status.shards[&ShardId::new(7)].latency, Number::Integer(2), "the latest report wins");
        let status = bot_status([heard(future, 90), heard(past, 89)], at(1_000), SILENT_AFTER);
        assert_eq!(status.memory.get(), 2.0);
    }

    #[test]
    fn uptime_is_zero_if_the_bots_clock_is_ahead() {
        let clusters = [cluster("a", 1.0, 5_000, at(1_000), &[])];
        assert_eq!(status_of(&clusters, at(1_001)).uptime.readable, "0 seconds");
    }

    proptest! {
        #[test]
        fn status_changes_exactly_when_it_no_longer_holds(
            clusters in proptest::collection::vec((0..100_000_i64, 0..120_i64), 0..5),
            step in prop_oneof![0..200_000_i64, 0..200_000_000_i64],
        ) {
            let now = at(100_000);
            let clusters: Vec<_> = clusters.iter().enumerate().map(|(number, (started, silent))| {
                let received = at(100_000 - silent);
                cluster(&number.to_string(), 1.0, *started, received, &[(u32::try_from(number).unwrap(), 1)])
            }).collect();
            let shown = |BotStatus { memory, shards, uptime, .. }| (memory, shards, uptime);
            let status = status_of(&clusters, now);
            let BotStatus { dates, silence_in, .. } = status.clone();
            prop_assert!(dates.contains(&now));
            let later = Timestamp::from_micros(now.micros() + step);
            let passed = later.since(now);
            let still = dates.contains(&later) && silence_in.is_none_or(|left| passed < left);
            prop_assert_eq!(shown(status_of(&clusters, later)) == shown(status), still);
        }

        #[test]
        fn equal_wording_is_an_exact_range(millis in 0..=400_000_000_u64) {
            let length = Duration::from_millis(millis);
            let Range { start, end } = equal_wording(length);
            prop_assert!((start..end).contains(&length));
            let (words, nanosecond) = (in_words(length), Duration::from_nanos(1));
            prop_assert_eq!(&in_words(start), &words);
            prop_assert_eq!(&in_words(end - nanosecond), &words);
            prop_assert_ne!(&in_words(end), &words);
            prop_assert!(start.is_zero() || in_words(start - nanosecond) != words);
        }
    }

    #[test]
    fn durations_are_worded_in_days_hours_and_minutes() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (61, "1 minute"),
            (3_599, "59 minutes"),
            (3_600, "1 hour"),
            (3_660, "1 hour and 1 minute"),
            (86_400, "1 day"),
            (90_000, "1 day and 1 hour"),
            (86_520, "1 day and 2 minutes"),
            (274_320, "3 days, 4 hours and 12 minutes"),
        ] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }
}
