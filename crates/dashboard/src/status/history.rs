//! Notices, days and incidents in words.

use crate::date::Date;
use companion_domain::{
    model::{Notice, NoticeKind, Period, PeriodSubject, Timestamp},
    rules::{Day, DayState, days, in_words},
    usecase::Periods,
};
use std::{cmp::Reverse, time::Duration};

/// Number of incidents shown.
const INCIDENTS: usize = 10;

/// A notice that counts, or planned maintenance.
pub(crate) struct NoticeView {
    pub(crate) tone: &'static str,
    pub(crate) label: &'static str,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) from: Date,
    pub(crate) until: Option<Date>,
    pub(crate) is_planned: bool,
}

impl NoticeView {
    /// Returns the notices that count now, and planned maintenance. Incidents come first.
    pub(crate) fn current(notices: &[Notice], now: Timestamp) -> Vec<Self> {
        let is_planned = |notice: &Notice| notice.from > now;
        let mut current: Vec<_> = notices
            .iter()
            .filter(|notice| !notice.is_over(now))
            .filter(|notice| !is_planned(notice) || notice.kind == NoticeKind::Maintenance)
            .collect();
        current.sort_by_key(|notice| (is_planned(notice), notice.kind));
        let view = |notice: &Notice| {
            let (tone, label) = match notice.kind {
                NoticeKind::Incident => ("bad", "Incident"),
                NoticeKind::Maintenance if is_planned(notice) => ("mixed", "Planned maintenance"),
                NoticeKind::Maintenance => ("mixed", "Maintenance"),
                NoticeKind::News => ("", "News"),
            };
            Self {
                tone,
                label,
                title: notice.title.to_string(),
                text: notice.text.to_string(),
                from: Date::of(notice.from, now),
                until: notice.until.map(|until| Date::of(until, now)),
                is_planned: is_planned(notice),
            }
        };
        current.into_iter().map(view).collect()
    }
}

/// A bar of the last 90 days.
pub(crate) struct DayView {
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

impl DayView {
    pub(crate) fn all(periods: &Periods, now: Timestamp) -> Vec<Self> {
        days(periods.iter(), now).iter().map(|day| Self::of(day, now)).collect()
    }

    fn of(day: &Day, now: Timestamp) -> Self {
        let (class, what) = match day.state {
            DayState::Ok => ("good", "no outage".to_owned()),
            DayState::Partial => ("mixed", format!("partial outage, {}", in_words(day.partial))),
            DayState::Down => ("bad", format!("outage, {}", in_words(day.down))),
            DayState::Unknown => ("", "unknown".to_owned()),
        };
        Self { class, text: format!("{}: {what}", Date::of(day.start, now).day()) }
    }
}

/// An entry of the list of incidents.
pub(crate) struct IncidentView {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) from: Date,
    /// How long it lasted. `None` if it goes on.
    pub(crate) lasted: Option<String>,
}

impl IncidentView {
    /// Returns the last incidents, the latest first: of the bot, of single clusters outside of those, and past notices.
    pub(crate) fn last(periods: &Periods, notices: &[Notice], now: Timestamp) -> Vec<Self> {
        let end = |period: &Period| period.ended_at.unwrap_or(now);
        let incidents: Vec<_> =
            periods.iter().filter(|period| period.subject == PeriodSubject::Incident).collect();
        let is_part = |period: &Period| {
            incidents.iter().any(|whole| whole.began_at <= end(period) && period.began_at <= end(whole))
        };
        let view = |from: Timestamp, until: Option<Timestamp>, title, text| {
            let lasted = until.map(|until| in_words(until.since(from).max(Duration::from_secs(1))));
            (Reverse(from), Self { title, text, from: Date::of(from, now), lasted })
        };
        let mut all = Vec::new();
        for period in periods.iter() {
            let title = match &period.subject {
                PeriodSubject::Incident => period.title().to_owned(),
                PeriodSubject::Cluster(cluster) if !is_part(period) => {
                    format!("Cluster {cluster} was silent")
                }
                _ => continue,
            };
            all.push(view(period.began_at, period.ended_at, title, String::new()));
        }
        let is_incident = |notice: &&Notice| notice.kind != NoticeKind::News && notice.is_over(now);
        for notice in notices.iter().filter(is_incident) {
            all.push(view(notice.from, notice.until, notice.title.to_string(), notice.text.to_string()));
        }
        all.sort_by_key(|(from, _)| *from);
        all.into_iter().take(INCIDENTS).map(|(_, incident)| incident).collect()
    }
}
