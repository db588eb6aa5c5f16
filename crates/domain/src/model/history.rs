//! The bot's history: periods in which it was watched, in which it or a part of it was silent, and incidents; and notices of
//! planned maintenance, incidents and news.

use super::{ClusterId, Headline, Invalid, NoticeId, NoticeText, Timestamp, Title};
use crate::named::named;
use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

/// A period. At most one of each subject is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Period {
    /// What it is about.
    pub subject: PeriodSubject,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended, or how far it reaches so far if the bot was watched. `None` if it is open.
    pub ended_at: Option<Timestamp>,
    /// What an incident began with.
    pub reason: Option<Title>,
    /// When an alert is due, unless the node that is sending it has done so by then. `None` if none is.
    pub alert_due: Option<Timestamp>,
}

/// What a period is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodSubject {
    /// The service ran and knew of a bot. What happened at other times is unknown.
    Watched,
    /// Every cluster was silent.
    Silent,
    /// The bot was silent, or shards were missing for long.
    Incident,
    /// This cluster was silent, and no other had taken over its shards.
    Cluster(ClusterId),
}

const CLUSTER: &str = "cluster:";

impl fmt::Display for PeriodSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watched => f.write_str("watched"),
            Self::Silent => f.write_str("silent"),
            Self::Incident => f.write_str("incident"),
            Self::Cluster(cluster) => write!(f, "{CLUSTER}{cluster}"),
        }
    }
}

impl FromStr for PeriodSubject {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "watched" => Ok(Self::Watched),
            "silent" => Ok(Self::Silent),
            "incident" => Ok(Self::Incident),
            _ => match text.strip_prefix(CLUSTER) {
                Some(cluster) => cluster.parse().map(Self::Cluster),
                None => Err(Invalid::new("subject", "watched, silent, incident or cluster: and an id")),
            },
        }
    }
}

/// The clusters that were silent when a period began, by the arrival time of their last report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Silence {
    /// Each must still be silent: its stored report is this one.
    pub clusters: BTreeMap<ClusterId, Timestamp>,
    /// Whether no other cluster may exist.
    pub is_of_all: bool,
}

impl Silence {
    /// Returns whether the stored reports still show it.
    fn holds(&self, stored: &BTreeMap<ClusterId, Timestamp>) -> bool {
        let same = |(cluster, heard): (&ClusterId, &Timestamp)| stored.get(cluster) == Some(heard);
        self.clusters.iter().all(same) && (!self.is_of_all || stored.len() == self.clusters.len())
    }
}

/// A change of the bot's history, as one node observed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeriodChange {
    /// Begins a period, unless one of its subject is open or a cluster has reported since.
    Begin(Period, Silence),
    /// Ends the open period of a subject, if any.
    End {
        /// What the period is about.
        subject: PeriodSubject,
        /// When it ended.
        at: Timestamp,
        /// When an alert is due.
        alert_due: Option<Timestamp>,
    },
    /// The bot is being watched now. Extends the last such period, or begins one after a gap.
    Watch(Timestamp),
    /// Moves the alert of an incident, unless another node did. `None` if the alert was sent.
    MoveAlert {
        /// When the incident began.
        began_at: Timestamp,
        /// When the alert is due.
        from: Timestamp,
        /// When it will be due.
        to: Option<Timestamp>,
    },
}

impl PeriodChange {
    /// Decides what to store, from all periods that are open, watched or have an alert. `None` changes nothing.
    #[must_use]
    pub fn decide(&self, periods: &[Period], clusters: &BTreeMap<ClusterId, Timestamp>) -> Option<Period> {
        let open = |subject: &PeriodSubject| {
            periods.iter().find(|period| period.subject == *subject && period.ended_at.is_none())
        };
        match self {
            Self::Begin(period, silence) => {
                (open(&period.subject).is_none() && silence.holds(clusters)).then(|| period.clone())
            }
            Self::End { subject, at, alert_due } => {
                let open = open(subject)?.clone();
                Some(Period { ended_at: Some(open.began_at.max(*at)), alert_due: *alert_due, ..open })
            }
            Self::Watch(at) => watched(periods, *at),
            Self::MoveAlert { began_at, from, to } => {
                let due = |period: &&Period| {
                    period.subject == PeriodSubject::Incident
                        && period.began_at == *began_at
                        && period.alert_due == Some(*from)
                };
                periods.iter().find(due).map(|period| Period { alert_due: *to, ..period.clone() })
            }
        }
    }
}

impl Period {
    /// Maximum number of periods kept. The ones that began first are removed.
    pub const KEPT: usize = 2000;
    /// How long the service may be away without a gap in its watch.
    pub const WATCH_GAP: Duration = Duration::from_secs(150);

    /// Returns an open period.
    #[must_use]
    pub const fn open(subject: PeriodSubject, began_at: Timestamp) -> Self {
        Self { subject, began_at, ended_at: None, reason: None, alert_due: None }
    }

    /// Returns what an incident began with, in words.
    #[must_use]
    pub fn title(&self) -> &str {
        self.reason.as_ref().map_or("An incident", Title::as_str)
    }
}

/// Returns the period in which the bot is watched at this time.
fn watched(periods: &[Period], at: Timestamp) -> Option<Period> {
    let mut known = periods.iter().filter(|period| period.subject == PeriodSubject::Watched);
    let reaches = |period: &&Period| {
        period.began_at <= at && period.ended_at.is_some_and(|end| at <= end.after(Period::WATCH_GAP))
    };
    match known.find(reaches) {
        Some(period) if period.ended_at >= Some(at) => None,
        Some(period) => Some(Period { ended_at: Some(at), ..period.clone() }),
        None => Some(Period { ended_at: Some(at), ..Period::open(PeriodSubject::Watched, at) }),
    }
}

/// A notice that the bot or the operator publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Chosen by the publisher.
    pub id: NoticeId,
    /// What it is about.
    pub kind: NoticeKind,
    /// What is shown first.
    pub title: Headline,
    /// The text below.
    pub text: NoticeText,
    /// From when it counts.
    pub from: Timestamp,
    /// Until when it counts. `None` if it is open.
    pub until: Option<Timestamp>,
}

impl Notice {
    /// Maximum number of open notices.
    pub const MAX_OPEN: usize = 50;

    /// Checks that it does not end before it begins.
    pub fn check(&self) -> Result<(), Invalid> {
        match self.until {
            Some(until) if until < self.from => Err(Invalid::new("until", "null, or no earlier than from")),
            _ => Ok(()),
        }
    }

    /// Returns whether it has no end yet.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.until.is_none()
    }

    /// Returns whether it is over.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

named! {
    /// The kinds of notices.
    NoticeKind {
        /// Something is broken.
        Incident = "incident",
        /// Planned work.
        Maintenance = "maintenance",
        /// Anything else.
        News = "news",
    }
    parsed as "kind": "maintenance, incident or news"
}
