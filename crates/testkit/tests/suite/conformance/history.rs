//! Wrong stores of the bot's history.

use crate::conformance::proof::{Rendezvous, faults, with};
use async_trait::async_trait;
use companion_domain::{
    change::Applied,
    model::{Period, PeriodChange, PeriodSubject, Silence},
    port::{ApplyError, Mutation, Record, Records, Stores},
};
use companion_testkit::{
    conformance::Fresh,
    over::{Over, RecordsOver},
};
use std::sync::Arc;

faults! {
    fn proofs, enum HistoryFault {}
    status_history(wrong_history) {
        a_period_begins_and_ends_once:
            EndsLate "a period ends after its end",
            OneForAll "one period is open, whatever its subject";
        a_period_begins_only_if_its_clusters_have_not_reported_since:
            IgnoresReports "later reports are ignored",
            IgnoresOthers "other clusters are ignored";
        one_of_many_beginnings_wins: ChecksFirst "open periods are looked for in a step of their own";
        watching_extends_a_period_without_a_change: NewPeriods "every minute is a period";
        an_alert_is_moved_by_one_caller: AnyAlert "an alert that has moved is moved again";
        at_most_fifty_notices_are_open: EndedCount "ended notices count as open";
        a_signed_off_cluster_is_gone: Stays "a signed-off cluster stays";
    }
}

fn wrong_history(fault: HistoryFault) -> Fresh<Stores> {
    with(|stores| {
        let wrong = Wrong { fault, inner: stores.clone(), readers: Rendezvous::default() };
        stores.records = Arc::new(Over(wrong));
    })
}

struct Wrong {
    fault: HistoryFault,
    inner: Stores,
    /// Callers that have looked for an open period.
    readers: Rendezvous,
}

impl Wrong {
    async fn changed(&self, change: PeriodChange) -> Result<PeriodChange, ApplyError> {
        let periods = self.inner.status_history.periods().await?;
        let open = periods.iter().find(|period| period.ended_at.is_none());
        Ok(match (self.fault, change) {
            (HistoryFault::IgnoresReports, PeriodChange::Begin(period, silence)) => {
                PeriodChange::Begin(period, Silence { clusters: [].into(), ..silence })
            }
            (HistoryFault::IgnoresOthers, PeriodChange::Begin(period, silence)) => {
                PeriodChange::Begin(period, Silence { is_of_all: false, ..silence })
            }
            (HistoryFault::OneForAll, PeriodChange::Begin(period, silence)) => {
                let subject = open.map_or(period.subject.clone(), |open| open.subject.clone());
                PeriodChange::Begin(Period { subject, ..period }, silence)
            }
            (HistoryFault::EndsLate, PeriodChange::End { subject, at, alert_due }) => {
                let began_at = open.map_or(at, |open| open.began_at);
                PeriodChange::End {
                    subject,
                    at: at.max(began_at.after(std::time::Duration::from_secs(1))),
                    alert_due,
                }
            }
            (HistoryFault::AnyAlert, PeriodChange::MoveAlert { began_at, from, to }) => {
                let due = open.and_then(|open| open.alert_due);
                PeriodChange::MoveAlert {
                    began_at,
                    from: due.unwrap_or(from),
                    to: to.map(|to| to.after(self.turn())),
                }
            }
            (_, change) => change,
        })
    }

    /// Returns a length that differs each time.
    fn turn(&self) -> std::time::Duration {
        std::time::Duration::from_micros(self.readers.count())
    }
}

#[async_trait]
impl RecordsOver for Wrong {
    fn records(&self) -> &dyn Records {
        &*self.inner.records
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let [mutation] = <[Mutation; 1]>::try_from(batch).map_err(|_| ApplyError::TooManyNotices)?;
        let mutation = match (self.fault, mutation) {
            (HistoryFault::Stays, Mutation::SignOff(_)) => return Ok(Applied::default()),
            (HistoryFault::EndedCount, Mutation::Put(Record::Notice(mut notice))) => {
                notice.until = None;
                Mutation::Put(Record::Notice(notice))
            }
            (HistoryFault::NewPeriods, Mutation::Period(PeriodChange::Watch(at))) => {
                let subject = PeriodSubject::Watched;
                let period =
                    Period { subject, began_at: at, ended_at: Some(at), reason: None, alert_due: None };
                Mutation::Period(PeriodChange::Begin(period, Silence::default()))
            }
            (HistoryFault::ChecksFirst, Mutation::Period(PeriodChange::Begin(period, _))) => {
                self.readers.wait().await;
                let ended = Period { ended_at: Some(period.began_at), ..period };
                Mutation::Period(PeriodChange::Begin(ended, Silence::default()))
            }
            (_, Mutation::Period(change)) => Mutation::Period(self.changed(change).await?),
            (_, other) => other,
        };
        self.inner.records.apply(vec![mutation]).await
    }
}
