//! Watching the bot: periods of its history begin and end, silent clusters are retired, and alerts become due.
//!
//! Every node watches. A period begins or ends in the store at most once, whichever node is first; that node sends the
//! alert. The store rejects the beginning of a period if a cluster has reported since, so a node with an outdated view
//! changes nothing.

use super::{Clusters, Moment, all::Core};
use crate::{
    change::Tally,
    model::{Period, PeriodChange, PeriodSubject, Silence, Span, Timestamp},
    port::{ApplyError, Clock, Mutation},
    rules::{BotHealth, LastHeard, ShardState, in_words},
};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// Interval at which the period in which the bot is watched is extended, and forgotten clusters are removed.
const EXTEND_INTERVAL: Duration = Duration::from_secs(60);
/// How long a node may take to send an alert, before another node does.
const ALERT_LEASE: Duration = Duration::from_secs(60);

/// The periods of the bot's history, and when this process learned of each, in monotonic time.
#[derive(Debug, Default)]
pub struct Periods(Vec<(Period, Duration)>);

impl Periods {
    /// Returns these periods, which were read now.
    #[must_use]
    pub fn after(earlier: Option<&Self>, periods: Vec<Period>, clock: &dyn Clock) -> Self {
        let now = clock.monotonic();
        let earlier = earlier.into_iter().flat_map(|earlier| &earlier.0);
        let known: HashMap<_, _> = earlier.map(|(period, learned_at)| (period, *learned_at)).collect();
        let learned_at = |period: &Period| known.get(period).copied().unwrap_or(now);
        let learned_at: Vec<_> = periods.iter().map(learned_at).collect();
        Self(periods.into_iter().zip(learned_at).collect())
    }

    /// Iterates over all periods, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &Period> {
        self.0.iter().map(|(period, _)| period)
    }

    fn open(&self) -> impl Iterator<Item = &(Period, Duration)> {
        self.0.iter().filter(|(period, _)| period.ended_at.is_none())
    }

    fn is_open(&self, subject: &PeriodSubject) -> bool {
        self.open().any(|(period, _)| period.subject == *subject)
    }
}

/// What the task that watches remembers from one tick to the next.
#[derive(Debug, Default)]
pub struct Observed {
    /// Since when shards have been missing, in monotonic time.
    missing_since: Option<Duration>,
    /// When the watch was last extended, in monotonic time.
    extended_at: Option<Duration>,
    /// When this process began to watch, in monotonic time.
    began_at: Option<Duration>,
}

/// An alert that this node is to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The incident.
    pub incident: Period,
    /// Until when this node may send it.
    pub due: Timestamp,
}

impl Alert {
    /// Returns the text about the bot of this name.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let Period { began_at, ended_at, .. } = &self.incident;
        let reason = self.incident.title();
        match ended_at {
            None => format!("{name}: {reason}."),
            Some(end) => format!("{name}: well again after {}. {reason}.", in_words(end.since(*began_at))),
        }
    }
}

/// Watches the bot.
pub struct WatchBot(pub(super) Arc<Core>);

impl WatchBot {
    /// Compares the bot with its history, and writes what has changed. Returns an alert if this node must send one, which
    /// is never the case without `has_alerts`. Called twice a second.
    pub async fn tick(
        &self,
        observed: &mut Observed,
        clusters: &Clusters,
        periods: &Periods,
        has_alerts: bool,
    ) -> Result<Option<Alert>, ApplyError> {
        let (moment, silent_after) = (Moment::of(&*self.0.ports.clock), self.0.settings.silent_after);
        let now = Now { moment, heard: clusters.last_heard(moment.monotonic).collect(), silent_after };
        let health = BotHealth::of(now.heard.iter().cloned(), silent_after);
        let mut batch: Vec<_> =
            now.cluster_changes(&health, periods).into_iter().map(Mutation::Period).collect();
        let mut removed = health.retired.clone();
        let is_recent = |at: Duration| moment.monotonic.saturating_sub(at) < EXTEND_INTERVAL;
        let extends = !observed.extended_at.is_some_and(is_recent);
        if extends {
            let forgotten = now.heard.iter().filter(|heard| heard.is_forgotten(silent_after));
            removed.extend(forgotten.map(LastHeard::arrival));
            if !now.heard.is_empty() || periods.open().next().is_some() {
                batch.push(Mutation::Period(PeriodChange::Watch(moment.now)));
            }
        }
        // Even without one: unreadable reports are removed, too.
        if extends || !removed.is_empty() {
            batch.push(Mutation::RemoveSilent(removed));
        }
        if !batch.is_empty() {
            self.0.records.apply(batch).await?;
        }
        if extends {
            observed.extended_at = Some(moment.monotonic);
        }
        self.incident(observed, &now, &health, periods, has_alerts).await
    }

    /// Begins or ends an incident, or takes over an alert that another node has not sent.
    async fn incident(
        &self,
        observed: &mut Observed,
        now: &Now,
        health: &BotHealth,
        periods: &Periods,
        has_alerts: bool,
    ) -> Result<Option<Alert>, ApplyError> {
        let began_at = *observed.began_at.get_or_insert(now.moment.monotonic);
        // Until then the node judges clusters by the dates of reports from before its start, which may be wrong.
        let is_certain = now.moment.monotonic.saturating_sub(began_at) >= now.silent_after.get();
        let due = has_alerts.then(|| now.moment.now.after(ALERT_LEASE));
        let incidents = || periods.0.iter().filter(|(period, _)| period.subject == PeriodSubject::Incident);
        let is_missing = health.state == ShardState::Missing;
        observed.missing_since = is_missing.then(|| observed.missing_since.unwrap_or(now.moment.monotonic));
        let begun = now.incident(health, observed.missing_since, incidents().map(|(_, at)| *at).max());
        let (period, change) = match (incidents().find(|(period, _)| period.ended_at.is_none()), begun) {
            (None, Some((began_at, silence))) => {
                let open = Period::open(PeriodSubject::Incident, began_at);
                let period = Period { reason: health.sentence().parse().ok(), alert_due: due, ..open };
                (period.clone(), PeriodChange::Begin(period, silence))
            }
            (Some((open, learned_at)), None)
                if is_certain && !is_missing && now.is_reported_since(*learned_at) =>
            {
                let at = now.moment.now;
                let ended_at = Some(open.began_at.max(at));
                let subject = PeriodSubject::Incident;
                let period = Period { ended_at, alert_due: due, ..open.clone() };
                (period, PeriodChange::End { subject, at, alert_due: due })
            }
            _ => {
                let is_due = |at: &Timestamp| now.moment.now.age_of(*at) > Duration::ZERO;
                let mut overdue =
                    incidents().filter_map(|(period, _)| Some((period, period.alert_due.filter(is_due)?)));
                let Some((period, from)) = overdue.next() else { return Ok(None) };
                let change = PeriodChange::MoveAlert { began_at: period.began_at, from, to: due };
                (period.clone(), change)
            }
        };
        let tally = self.0.records.apply(vec![Mutation::Period(change)]).await?.tally;
        Ok(due.filter(|_| tally != Tally::NOTHING).map(|due| Alert { incident: period, due }))
    }

    /// Stores that an alert was sent, or that this node goes on sending it. Returns the alert to send next time, `None`
    /// if it was sent or another node is sending it.
    pub async fn sent(&self, alert: Alert, is_sent: bool) -> Result<Option<Alert>, ApplyError> {
        let to = (!is_sent).then(|| self.0.now().after(ALERT_LEASE));
        let change = PeriodChange::MoveAlert { began_at: alert.incident.began_at, from: alert.due, to };
        let tally = self.0.records.apply(vec![Mutation::Period(change)]).await?.tally;
        Ok(to.filter(|_| tally != Tally::NOTHING).map(|due| Alert { due, ..alert }))
    }
}

/// The bot as this node sees it now.
struct Now {
    moment: Moment,
    heard: Vec<LastHeard>,
    silent_after: Span,
}

impl Now {
    /// Returns whether a live cluster has reported since this monotonic time. An earlier report does not end a period: a
    /// node that learned of the report sooner has already counted it.
    fn is_reported_since(&self, learned_at: Duration) -> bool {
        self.heard.iter().any(|heard| self.is_live_since(heard, learned_at))
    }

    fn is_live_since(&self, heard: &LastHeard, learned_at: Duration) -> bool {
        heard.is_live(self.silent_after)
            && heard.silent_for <= self.moment.monotonic.saturating_sub(learned_at)
    }

    /// Returns when the cluster became silent. `None` unless this process itself has observed the silence: before, the
    /// cluster could not report here.
    fn silent_at(&self, heard: &LastHeard) -> Option<Timestamp> {
        let silent_after = self.silent_after.get();
        let length = heard.silent_for.checked_sub(silent_after)?.min(heard.watched_for);
        (heard.watched_for >= silent_after).then(|| self.moment.now.before(length))
    }

    /// Returns when all clusters had become silent, if they have.
    fn all_silent_at(&self) -> Option<Timestamp> {
        let at: Option<Vec<_>> = self.heard.iter().map(|heard| self.silent_at(heard)).collect();
        at?.into_iter().max()
    }

    fn silence(&self, is_of_all: bool) -> Silence {
        let silent = self.heard.iter().filter(|heard| !heard.is_live(self.silent_after));
        Silence { clusters: silent.map(LastHeard::arrival).collect(), is_of_all }
    }

    /// Returns the changes of all periods but incidents.
    fn cluster_changes(&self, health: &BotHealth, periods: &Periods) -> Vec<PeriodChange> {
        let mut changes = Vec::new();
        for heard in self.heard.iter().filter(|heard| health.silent.contains(&heard.report.cluster)) {
            let cluster = &heard.report.cluster;
            let subject = PeriodSubject::Cluster(cluster.clone());
            if let Some(began_at) = self.silent_at(heard).filter(|_| !periods.is_open(&subject)) {
                let silence = Silence { clusters: [heard.arrival()].into(), is_of_all: false };
                changes.push(PeriodChange::Begin(Period::open(subject, began_at), silence));
            }
        }
        if let Some(began_at) = self.all_silent_at().filter(|_| !periods.is_open(&PeriodSubject::Silent)) {
            let period = Period::open(PeriodSubject::Silent, began_at);
            changes.push(PeriodChange::Begin(period, self.silence(true)));
        }
        let is_live = self.heard.iter().any(|heard| heard.is_live(self.silent_after));
        for (period, learned_at) in periods.open() {
            let is_over = match &period.subject {
                PeriodSubject::Silent => self.is_reported_since(*learned_at),
                PeriodSubject::Cluster(cluster) => {
                    match self.heard.iter().find(|heard| heard.report.cluster == *cluster) {
                        Some(heard) => self.is_live_since(heard, *learned_at),
                        // It was retired, signed off or forgotten.
                        None => is_live,
                    }
                }
                PeriodSubject::Watched | PeriodSubject::Incident => false,
            };
            if is_over {
                let subject = period.subject.clone();
                changes.push(PeriodChange::End { subject, at: self.moment.now, alert_due: None });
            }
        }
        changes
    }

    /// Returns when an incident began, if there is one, and what shows it. Shards must have been missing for a while since
    /// the last incident changed, because other nodes may see them a little earlier.
    fn incident(
        &self,
        health: &BotHealth,
        missing_since: Option<Duration>,
        last_changed: Option<Duration>,
    ) -> Option<(Timestamp, Silence)> {
        if health.state == ShardState::Silent {
            return Some((self.all_silent_at()?, self.silence(true)));
        }
        let since = missing_since?.max(last_changed.unwrap_or_default());
        let length = self.moment.monotonic.saturating_sub(since);
        (length >= self.silent_after.get()).then(|| (self.moment.now.before(length), self.silence(false)))
    }
}
