//! The status of the bot in words.

use crate::{
    context::DashboardContext,
    date::{Date, length_in_words},
};
use companion_domain::{
    model::{Shard, ShardId},
    rules::{BotHealth, LastHeard, ShardState},
    usecase::Moment,
};
use std::collections::BTreeMap;

/// Maximum number of shards shown one by one, and of clusters.
const MAX_SHOWN: usize = 512;
const MAX_CLUSTERS: usize = 64;

/// The status of the bot.
pub(crate) struct BotView {
    /// A summary in one sentence, without its full stop.
    pub(crate) line: String,
    pub(crate) tone: Tone,
    /// When the bot last reported, if it is silent.
    pub(crate) last_heard: Option<Date>,
    pub(crate) uptime: String,
    pub(crate) memory: String,
    /// The number of shards in each state that has any, the worst first.
    pub(crate) states: String,
    /// All shards, or those that are not well if there are very many: with the state unless it is well, and the latency
    /// if it is reported.
    pub(crate) shards: Vec<(ShardId, Tone, Option<&'static str>, Option<String>)>,
    pub(crate) clusters: Vec<ClusterView>,
    /// Clusters beyond the number shown.
    pub(crate) more_clusters: usize,
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

    pub(crate) const fn of(state: ShardState) -> Self {
        match state {
            ShardState::Ok => Self::Good,
            ShardState::Unknown | ShardState::Slow | ShardState::Stale => Self::Mixed,
            ShardState::Missing | ShardState::Silent => Self::Bad,
        }
    }
}

/// The last report of a cluster.
pub(crate) struct ClusterView {
    pub(crate) id: String,
    pub(crate) silent: bool,
    pub(crate) heard: Date,
    pub(crate) memory: String,
    pub(crate) shards: usize,
}

/// Returns the health of the bot, or `None` if its reports are not loaded yet.
pub(crate) fn health(context: &DashboardContext) -> Option<BotHealth> {
    Some(context.use_cases.report_status.health(&*context.projections.clusters()?))
}

impl BotView {
    /// Returns the current status, or `None` if the reports are not loaded yet.
    pub(crate) fn now(context: &DashboardContext) -> Option<Self> {
        let clusters = context.projections.clusters()?;
        let (moment, report) = (Moment::of(&*context.clock), &context.use_cases.report_status);
        let status = report.report(&clusters, moment);
        let health = report.health(&clusters);
        let is_retired = |heard: &LastHeard| health.retired.iter().any(|(id, _)| *id == heard.report.cluster);
        let mut heard: Vec<_> = clusters.last_heard(moment.monotonic).filter(|it| !is_retired(it)).collect();
        heard.sort_by(|one, other| one.report.cluster.cmp(&other.report.cluster));
        let last_heard = heard.iter().map(|heard| heard.silent_for).min();
        let last_heard = last_heard.filter(|_| health.state == ShardState::Silent);
        let is_silent = |heard: &LastHeard| health.silent.contains(&heard.report.cluster);
        let cluster = |heard: &LastHeard| {
            let silent = is_silent(heard);
            let date = if silent { Date::silent_since } else { Date::of };
            ClusterView {
                id: heard.report.cluster.to_string(),
                silent,
                heard: date(moment.now.before(heard.silent_for), moment.now),
                memory: megabytes(heard.report.memory.get()),
                shards: heard.report.shards.iter().count(),
            }
        };
        let latency = |(id, shard): (&ShardId, &Shard)| (*id, format!("{:.0} ms", shard.latency.as_f64()));
        let latencies: BTreeMap<_, _> = status.shards.iter().map(latency).collect();
        let is_shown = |state: ShardState| health.shards.len() <= MAX_SHOWN || state != ShardState::Ok;
        let shards = health.shards.iter().filter(|(_, state)| is_shown(**state)).take(MAX_SHOWN);
        let shard = |(id, state): (&ShardId, &ShardState)| {
            let word = (*state != ShardState::Ok).then(|| state.as_str());
            (*id, Tone::of(*state), word, latencies.get(id).cloned())
        };
        let name = &context.settings.name;
        let tone = match (health.state, &*health.silent) {
            (ShardState::Ok, [_, ..]) => Tone::Mixed,
            (state, _) => Tone::of(state),
        };
        Some(Self {
            line: match heard.is_empty() {
                true => format!("{name} has not reported yet"),
                false => health.sentence().replacen("The bot", name.as_str(), 1),
            },
            tone,
            last_heard: last_heard.map(|length| Date::silent_since(moment.now.before(length), moment.now)),
            uptime: match health.state {
                ShardState::Silent => status.uptime.readable.clone(),
                _ => length_in_words(moment.now.since(status.uptime.since)),
            },
            memory: megabytes(status.memory.get()),
            states: states(&health),
            shards: shards.map(shard).collect(),
            more_clusters: heard.len().saturating_sub(MAX_CLUSTERS),
            clusters: heard.iter().take(MAX_CLUSTERS).map(cluster).collect(),
        })
    }
}

/// Returns the number of shards in each state that has any, the worst first: `1 slow, 5 ok`.
fn states(health: &BotHealth) -> String {
    let counted = ShardState::ALL.into_iter().rev().map(|state| (state, health.count(state)));
    let states = counted.filter(|(_, count)| *count > 0);
    let words: Vec<_> =
        states.map(|(state, count)| format!("{} {}", grouped(count), state.as_str())).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// Formats a number of megabytes: `412 MB`, `1.3 GB`.
fn megabytes(amount: f64) -> String {
    if amount < 999.5 { format!("{amount:.0} MB") } else { format!("{:.1} GB", amount / 1000.0) }
}

/// Formats a count with its noun, in the plural if needed.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a number with thousands separators: `18,240`.
pub(crate) fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_sizes_in_megabytes_or_gigabytes() {
        for (amount, expected) in
            [(412.4, "412 MB"), (999.4, "999 MB"), (999.6, "1.0 GB"), (1337.0, "1.3 GB")]
        {
            assert_eq!(megabytes(amount), expected);
        }
    }

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
