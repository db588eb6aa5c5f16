//! Wrong change feeds, and writers that tell too much.

use crate::proof::{Proof, Workshop, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Changes, Kind, Revision, Subject, Tally},
    model::UserId,
    port::{BlockList, ChangeFeed, StoreError},
};
use companion_testkit::conformance::{Fresh, change_feed::SUITE};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    TeamMissed,
    TakenGrantsMissed,
    ToldTwice,
    NewestFirst,
    NeverAGap,
    GapAtZero,
    OneBehind,
    SkipsUnfinished,
    StartsOverAtThePlace,
    NoChangeIsTold,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "change_feed",
        behaviours: SUITE,
        sound: || Fresh::new(Arc::new(stores())),
        wrong: |fault| {
            with(|stores| {
                if fault == F::NoChangeIsTold {
                    stores.blocked = Arc::new(Chatty(stores.blocked.clone()));
                } else {
                    let inner = stores.changes.clone();
                    stores.changes = Arc::new(Wrong { inner, fault, finished: Mutex::default() });
                }
            })
        },
    };
    let order = "changes_come_in_order_each_once";
    workshop.proofs(&[
        (
            F::TeamMissed,
            "a change of the team is not told (a missed change)",
            "feedback_team_and_clusters_are_told_of",
        ),
        (F::TakenGrantsMissed, "grants change in silence", "grants_are_told_of"),
        (F::ToldTwice, "a change is told twice", order),
        (F::NewestFirst, "changes come newest first", order),
        (F::NeverAGap, "an unknown revision is no gap", "a_revision_that_nobody_knows_is_a_gap"),
        (F::GapAtZero, "a gap leads to the wrong revision", "a_revision_that_nobody_knows_is_a_gap"),
        (F::OneBehind, "the newest change is held back", "a_change_is_listed_once_its_write_was_answered"),
        (
            F::SkipsUnfinished,
            "a reader is led past changes to come",
            "who_follows_many_writers_misses_nothing",
        ),
        (F::StartsOverAtThePlace, "a reader is told again what it knows", "a_reader_can_start_anywhere"),
        (
            F::NoChangeIsTold,
            "a write that changes nothing is told",
            "a_write_that_changes_nothing_is_no_change",
        ),
    ])
}

struct Wrong {
    inner: Arc<dyn ChangeFeed>,
    fault: Fault,
    /// Revisions that were asked for once.
    finished: Mutex<HashSet<Revision>>,
}

impl Wrong {
    /// Every tenth write is slow: who asks for it first does not see it yet.
    fn is_finished(&self, revision: Revision) -> bool {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        !finished.insert(revision) || !revision.0.is_multiple_of(10)
    }
}

#[async_trait]
impl ChangeFeed for Wrong {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.inner.latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let asked = match self.fault {
            Fault::StartsOverAtThePlace => Revision(revision.0.saturating_sub(1)),
            _ => revision,
        };
        let mut changes = match (self.fault, self.inner.since(asked).await?) {
            (Fault::NeverAGap, Changes::Gap(_)) => vec![],
            (Fault::GapAtZero, Changes::Gap(_)) => return Ok(Changes::Gap(Revision::default())),
            (_, gap @ Changes::Gap(_)) => return Ok(gap),
            (_, Changes::Listed(changes)) => changes,
        };
        match self.fault {
            Fault::TeamMissed => changes.retain(|change| change.subject != Subject::Team),
            Fault::TakenGrantsMissed => changes.retain(|change| change.subject.kind() != Kind::Grant),
            Fault::ToldTwice => {
                changes = changes.into_iter().flat_map(|change| [change.clone(), change]).collect();
            }
            Fault::NewestFirst => changes.reverse(),
            Fault::OneBehind => drop(changes.pop()),
            Fault::SkipsUnfinished => changes.retain(|change| self.is_finished(change.revision)),
            _ => {}
        }
        Ok(Changes::Listed(changes))
    }
}

/// Writes what it was asked to write, whether that makes a difference or not.
struct Chatty(Arc<dyn BlockList>);

#[async_trait]
impl BlockList for Chatty {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        self.0.is_blocked(user).await
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.0.unblock(user).await?;
        self.0.block(user).await
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        self.0.unblock(user).await
    }
}
