//! The status of the bot in words.

use crate::{context::DashboardContext, date::Date};
use companion_domain::{
    model::{Number, Timestamp},
    rules::{BotStatus, LastHeard},
    usecase::Moment,
};

/// Latency in milliseconds above which a shard counts as slow.
const SLOW: f64 = 500.0;

/// The status of the bot.
pub(crate) struct BotView {
    /// A summary in one line.
    pub(crate) line: String,
    pub(crate) tone: Tone,
    /// Since when the bot has been silent, if it is.
    pub(crate) silent_since: Option<Date>,
    pub(crate) uptime: String,
    pub(crate) memory: String,
    pub(crate) clusters: Vec<ClusterView>,
}

/// The severity of a status. The text always says it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Mixed,
    Bad,
}

impl Tone {
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Mixed => "mixed",
            Self::Bad => "bad",
        }
    }
}

/// The last report of a cluster.
pub(crate) struct ClusterView {
    pub(crate) id: String,
    pub(crate) silent: bool,
    pub(crate) heard: Date,
    pub(crate) memory: String,
    pub(crate) shards: Vec<ShardView>,
}

/// The last report of a shard.
pub(crate) struct ShardView {
    pub(crate) id: u32,
    pub(crate) latency: String,
    pub(crate) slow: bool,
}

impl BotView {
    /// Returns the current status, or `None` if the reports are not loaded yet.
    pub(crate) fn now(context: &DashboardContext) -> Option<Self> {
        let clusters = context.projections.clusters()?;
        let moment = Moment::of(&*context.clock);
        let report = &context.use_cases.report_status;
        let (status, _) = report.report(&clusters, moment);
        let mut heard: Vec<_> = clusters.last_heard(moment.monotonic).collect();
        heard.sort_by(|one, other| one.report.cluster.cmp(&other.report.cluster));
        let silent = |heard: &LastHeard| heard.silent_for >= report.silent_after.get();
        Some(Self::of(&status, &heard, silent, moment.now))
    }

    fn of(
        status: &BotStatus,
        heard: &[LastHeard],
        silent: impl Fn(&LastHeard) -> bool,
        now: Timestamp,
    ) -> Self {
        let live = heard.iter().filter(|heard| !silent(heard)).count();
        let last_heard = heard.iter().map(|heard| heard.silent_for).min();
        let silent_since = last_heard.filter(|_| live == 0).map(|length| Date::of(now.before(length), now));
        let (tone, line) = match (live, heard.len(), &silent_since) {
            (0, _, Some(since)) => (Tone::Bad, format!("silent: last heard of {}", since.distance)),
            (0, ..) => (Tone::Bad, "silent: it has not reported yet".to_owned()),
            (live, all, _) if live < all => {
                (Tone::Mixed, format!("partly online: {} of {} report", live, counted(all, "cluster")))
            }
            _ => (Tone::Good, format!("online: {}", counted(status.shards.len(), "shard"))),
        };
        let cluster = |heard: &LastHeard| ClusterView {
            id: heard.report.cluster.to_string(),
            silent: silent(heard),
            heard: Date::of(now.before(heard.silent_for), now),
            memory: megabytes(heard.report.memory.get()),
            shards: heard
                .report
                .shards
                .iter()
                .map(|(id, shard)| shard_view(id.get(), shard.latency))
                .collect(),
        };
        Self {
            line,
            tone,
            silent_since,
            uptime: status.uptime.readable.clone(),
            memory: megabytes(status.memory.get()),
            clusters: heard.iter().map(cluster).collect(),
        }
    }
}

fn shard_view(id: u32, latency: Number) -> ShardView {
    let latency = latency.as_f64();
    ShardView { id, latency: format!("{latency:.0} ms"), slow: latency > SLOW }
}

fn megabytes(amount: f64) -> String {
    format!("{amount:.0} MB")
}

/// Formats a count with its noun, in the plural if needed.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a number with thousands separators: `18,240`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_counts_with_plural_and_separators() {
        for (count, expected) in [
            (0, "0 members"),
            (1, "1 member"),
            (999, "999 members"),
            (18_240, "18,240 members"),
            (1_000_000, "1,000,000 members"),
        ] {
            assert_eq!(counted(count, "member"), expected);
        }
    }
}
