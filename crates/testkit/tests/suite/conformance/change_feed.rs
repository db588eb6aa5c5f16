//! Wrong change feeds, and writers that tell too much.

use crate::conformance::proof::{a_turn, faults, locked, stores, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Changes, Key, Kind, Revision, Subject},
    model::UserId,
    port::{ApplyError, ChangeFeed, Mutation, Record, Records, StoreError, Stores},
};
use companion_testkit::{
    conformance::Fresh,
    over::{Over, RecordsOver},
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard},
};

faults! {
    enum Fault {}
    change_feed(Fresh::new(Arc::new(stores())), wrong) {
        feedback_team_and_clusters_are_told_of: TeamMissed "a change of the team is not told (a missed change)";
        grants_are_told_of: TakenGrantsMissed "grants change in silence";
        changes_come_in_order_each_once:
            ToldTwice "a change is told twice",
            NewestFirst "changes come newest first";
        a_revision_that_nobody_knows_is_a_gap:
            NeverAGap "an unknown revision is no gap",
            GapAtZero "a gap leads to the wrong revision";
        a_change_is_listed_once_its_write_was_answered: OneBehind "the newest change is held back";
        who_follows_many_writers_misses_nothing: SkipsUnfinished "a reader is led past changes to come";
        a_reader_can_start_anywhere: StartsOverAtThePlace "a reader is told again what it knows";
        a_write_that_changes_nothing_is_no_change: NoChangeIsTold "a write that changes nothing is told";
        very_many_changes_are_listed_at_once: HundredAtATime "a hundred changes are listed at most";
        a_write_of_very_many_tells_of_all: HundredOfAWrite "a hundred sessions are told of at most";
        a_write_that_is_given_up_is_told_of_if_it_was_made: ToldAfterwards "a change is told of in a second step";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    with(|stores| {
        if fault == Fault::NoChangeIsTold {
            stores.records = Arc::new(Over(Chatty(stores.records.clone())));
        } else if fault == Fault::ToldAfterwards {
            let untold = Arc::new(Mutex::default());
            stores.records = Arc::new(Over(Late(stores.records.clone(), Arc::clone(&untold))));
            stores.changes = Arc::new(OnlyTold(stores.changes.clone(), untold));
        } else {
            let inner = stores.changes.clone();
            stores.changes = Arc::new(Wrong { inner, fault, finished: Mutex::default() });
        }
    })
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
        let mut finished = locked(&self.finished);
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
            Fault::TeamMissed => changes.retain(|change| change.subject.kind() != Kind::Team),
            Fault::TakenGrantsMissed => changes.retain(|change| change.subject.kind() != Kind::Grant),
            Fault::ToldTwice => {
                changes = changes.into_iter().flat_map(|change| [change.clone(), change]).collect();
            }
            Fault::HundredAtATime => changes.truncate(100),
            Fault::HundredOfAWrite => {
                let mut sessions = 0;
                changes.retain(|change| {
                    sessions += u64::from(change.subject.kind() == Kind::Session);
                    change.subject.kind() != Kind::Session || sessions <= 100
                });
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
struct Chatty(Arc<dyn Records>);

#[async_trait]
impl RecordsOver for Chatty {
    fn records(&self) -> &dyn Records {
        &*self.0
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        if let [Mutation::Put(Record::Blocked(user))] = batch[..] {
            self.0.remove(Key::Blocked(user)).await?;
        }
        self.0.apply(batch).await
    }
}

/// Users whose change is not told of yet.
type Untold = Arc<Mutex<HashSet<UserId>>>;

/// Blocks first, and tells of it later.
struct Late(Arc<dyn Records>, Untold);

impl Late {
    fn untold(&self) -> MutexGuard<'_, HashSet<UserId>> {
        locked(&self.1)
    }
}

#[async_trait]
impl RecordsOver for Late {
    fn records(&self) -> &dyn Records {
        &*self.0
    }

    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let ([Mutation::Put(Record::Blocked(user))] | [Mutation::Remove(Key::Blocked(user))]) = batch[..]
        else {
            return self.0.apply(batch).await;
        };
        self.untold().insert(user);
        let applied = self.0.apply(batch).await?;
        a_turn().await;
        self.untold().remove(&user);
        Ok(applied)
    }
}

/// Lists nothing that was not told of, nor what comes after it.
struct OnlyTold(Arc<dyn ChangeFeed>, Untold);

#[async_trait]
impl ChangeFeed for OnlyTold {
    async fn latest(&self) -> Result<Revision, StoreError> {
        self.0.latest().await
    }

    async fn since(&self, revision: Revision) -> Result<Changes, StoreError> {
        let mut changes = self.0.since(revision).await?;
        if let Changes::Listed(changes) = &mut changes {
            let untold = locked(&self.1);
            let told =
                |subject: &Subject| !matches!(subject, Subject::Blocked(user) if untold.contains(user));
            changes.truncate(changes.iter().take_while(|change| told(&change.subject)).count());
        }
        Ok(changes)
    }
}
