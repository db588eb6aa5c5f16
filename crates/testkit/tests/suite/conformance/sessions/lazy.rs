//! Session stores that are right as long as there are few sessions, nobody leaves early, and nothing was used since.

use super::MANY;
use crate::conformance::proof::{Proof, Workshop, a_turn, handles, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, session_store::SUITE};
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    EvictsTen,
    RevokesTen,
    ListsTwenty,
    TouchesHundred,
    PrunesHundred,
    RewindsHundred,
    MakesInSteps,
    TouchesInSteps,
    RevokesInSteps,
    PrunesInSteps,
    RewindsInSteps,
    EndsByPrefix,
    TouchesByPrefix,
    RevokedAsMade,
    ListedByUse,
    PrunesAsMade,
    ExpiresAsMade,
    EvictsAsMade,
    RemembersTheRevoked,
}

pub(super) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "session_store",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| {
            let (inner, shared) = (memory(), Arc::default());
            handles(|| -> Arc<dyn SessionStore> {
                let (inner, shared) = (Arc::clone(&inner), Arc::clone(&shared));
                Arc::new(Lazy { inner, fault, shared, found: Mutex::default() })
            })
        },
    };
    workshop.proofs(&[
        (
            F::EvictsTen,
            "a sign-in takes ten sessions away at most",
            "a_user_with_very_many_sessions_is_served_in_full",
        ),
        (
            F::RevokesTen,
            "revoking a user ends ten sessions at most",
            "a_user_with_very_many_sessions_is_served_in_full",
        ),
        (
            F::ListsTwenty,
            "a user's list has twenty sessions at most",
            "a_user_with_very_many_sessions_is_served_in_full",
        ),
        (F::TouchesHundred, "a touch serves the first hundred", "one_touch_serves_as_many_as_it_may_name"),
        (
            F::PrunesHundred,
            "prune stops at a hundred, whatever its limit",
            "a_limit_is_reached_while_there_is_enough",
        ),
        (
            F::RewindsHundred,
            "rewind stops at a hundred, whatever its limit",
            "a_limit_is_reached_while_there_is_enough",
        ),
        (
            F::MakesInSteps,
            "a sign-in that is given up has made room and not come",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::TouchesInSteps,
            "a touch that is given up has served some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::RevokesInSteps,
            "a revocation that is given up has ended some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::PrunesInSteps,
            "a prune that is given up has taken some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::RewindsInSteps,
            "a rewind that is given up has set some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (F::EndsByPrefix, "sessions are ended by the first half of their id", "every_byte_of_an_id_counts"),
        (
            F::TouchesByPrefix,
            "sessions are touched by the first half of their id",
            "every_byte_of_an_id_counts",
        ),
        (
            F::RevokedAsMade,
            "an ended session is returned as it was made",
            "uses_count_wherever_a_session_is_judged_or_returned",
        ),
        (
            F::ListedByUse,
            "sessions are listed by their last use",
            "uses_count_wherever_a_session_is_judged_or_returned",
        ),
        (
            F::PrunesAsMade,
            "prune takes no notice of uses",
            "uses_count_wherever_a_session_is_judged_or_returned",
        ),
        (
            F::ExpiresAsMade,
            "expiry takes no notice of uses",
            "uses_count_wherever_a_session_is_judged_or_returned",
        ),
        (
            F::EvictsAsMade,
            "the cap takes no notice of uses",
            "uses_count_wherever_a_session_is_judged_or_returned",
        ),
        (
            F::RemembersTheRevoked,
            "a second handle still finds a revoked session",
            "revoking_ends_one_session_and_can_be_repeated",
        ),
    ])
}

struct Lazy {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    shared: Arc<Shared>,
    /// What was found through this handle.
    found: Mutex<HashMap<TokenHash, Session>>,
}

/// What both handles know.
#[derive(Default)]
struct Shared {
    /// Every session that ever was, as it was made.
    made: Mutex<HashMap<TokenHash, Session>>,
    /// Those that were revoked one by one.
    revoked: Mutex<HashSet<TokenHash>>,
    /// One writes at a time, so that only those who stop waiting find out.
    turn: tokio::sync::Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn half(id: &TokenHash) -> Option<&[u8]> {
    id.as_bytes().get(..16)
}

impl Lazy {
    fn made(&self) -> HashMap<TokenHash, Session> {
        locked(&self.shared.made).clone()
    }

    fn as_made(&self, session: Session) -> Session {
        self.made().get(&session.id).cloned().unwrap_or(session)
    }

    /// All ids that begin like this one.
    fn alike(&self, id: &TokenHash) -> Vec<TokenHash> {
        self.made().into_keys().filter(|made| half(made) == half(id)).collect()
    }

    /// Those that are over, or would be if they had never been used.
    async fn over_as_made(&self, ended: Cutoffs) -> Result<Vec<Session>, StoreError> {
        let mut over = Vec::new();
        for session in self.made().into_values().filter(|session| ended.end(session)) {
            over.extend(self.inner.find(&session.id).await?);
        }
        Ok(over)
    }

    async fn end_one_by_one(&self, sessions: &[Session]) -> Result<(), StoreError> {
        for session in sessions {
            self.inner.revoke(&session.id).await?;
            a_turn().await;
        }
        Ok(())
    }
}

const HUNDRED: NonZeroU32 = NonZeroU32::new(100).unwrap();

#[async_trait]
impl SessionStore for Lazy {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let _turn = self.shared.turn.lock().await;
        let before = self.inner.of_user(session.user).await?;
        let gone = match self.fault {
            _ if self.inner.find(&session.id).await?.is_some() => {
                return Err(StoreError::conflict("there is a session with this id"));
            }
            Fault::EvictsTen if before.len() >= cap.get() as usize => {
                let mut gone = exceeding(before, cap, ended);
                gone.truncate(10);
                for one in &gone {
                    self.inner.revoke(&one.id).await?;
                }
                self.inner.create(session, MANY, ended).await?;
                gone
            }
            Fault::EvictsAsMade if before.len() >= cap.get() as usize => {
                let gone = exceeding(before.into_iter().map(|one| self.as_made(one)).collect(), cap, ended);
                let mut taken = Vec::new();
                for one in &gone {
                    taken.extend(self.inner.revoke(&one.id).await?);
                }
                self.inner.create(session, MANY, ended).await?;
                taken
            }
            Fault::MakesInSteps => {
                let gone = exceeding(before, cap, ended);
                for one in &gone {
                    self.inner.revoke(&one.id).await?;
                }
                a_turn().await;
                self.inner.create(session, cap, ended).await?;
                gone
            }
            _ => self.inner.create(session, cap, ended).await?,
        };
        locked(&self.shared.made).insert(session.id, session.clone());
        Ok(gone)
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let found = self.inner.find(id).await?;
        if self.fault != Fault::RemembersTheRevoked {
            return Ok(found);
        }
        let mut remembered = locked(&self.found);
        remembered.extend(found.clone().map(|session| (session.id, session)));
        Ok(found.or(remembered.get(id).cloned().filter(|_| locked(&self.shared.revoked).contains(id))))
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        match self.fault {
            Fault::TouchesHundred => {
                for used in seen.as_slice().iter().take(100) {
                    self.inner.touch(Uses::one(used)).await?;
                }
            }
            Fault::TouchesInSteps => {
                for used in seen.as_slice() {
                    self.inner.touch(Uses::one(used)).await?;
                    a_turn().await;
                }
            }
            Fault::TouchesByPrefix => {
                for (id, time) in seen.as_slice() {
                    for id in self.alike(id) {
                        self.inner.touch(Uses::one(&(id, *time))).await?;
                    }
                }
            }
            _ => self.inner.touch(seen).await?,
        }
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.inner.of_user(user).await?;
        match self.fault {
            Fault::ListsTwenty => sessions.truncate(20),
            Fault::ListedByUse => sessions.sort_by_key(|session| session.last_seen_at),
            _ => {}
        }
        Ok(sessions)
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let revoked = self.inner.revoke(id).await?;
        locked(&self.found).remove(id);
        locked(&self.shared.revoked).insert(*id);
        if self.fault == Fault::EndsByPrefix {
            for id in self.alike(id) {
                self.inner.revoke(&id).await?;
            }
        }
        Ok(match self.fault {
            Fault::RevokedAsMade => revoked.map(|session| self.as_made(session)),
            _ => revoked,
        })
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        match (self.fault, self.inner.find(id).await?) {
            (Fault::ExpiresAsMade, Some(session)) if ended.end(&self.as_made(session.clone())) => {
                self.inner.revoke(id).await
            }
            _ => self.inner.expire(id, ended).await,
        }
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let _turn = self.shared.turn.lock().await;
        let mut sessions = self.inner.of_user(user).await?;
        match self.fault {
            Fault::RevokesTen => {
                sessions.truncate(10);
                for session in &sessions {
                    self.inner.revoke(&session.id).await?;
                }
                Ok(sessions)
            }
            Fault::RevokesInSteps => {
                self.end_one_by_one(&sessions).await?;
                Ok(sessions)
            }
            _ => self.inner.revoke_user(user).await,
        }
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let _turn = self.shared.turn.lock().await;
        match self.fault {
            Fault::PrunesHundred => self.inner.prune(ended, limit.min(HUNDRED)).await,
            Fault::PrunesAsMade => {
                let mut over = self.over_as_made(ended).await?;
                over.truncate(limit.get() as usize);
                for session in &over {
                    self.inner.revoke(&session.id).await?;
                }
                Ok(over)
            }
            Fault::PrunesInSteps => {
                let mut over = Vec::new();
                for session in self.made().into_values() {
                    over.extend(self.inner.find(&session.id).await?.filter(|found| ended.end(found)));
                }
                over.truncate(limit.get() as usize);
                self.end_one_by_one(&over).await?;
                Ok(over)
            }
            _ => self.inner.prune(ended, limit).await,
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        match self.fault {
            Fault::RewindsHundred => self.inner.rewind(now, limit.min(HUNDRED)).await,
            Fault::RewindsInSteps => {
                let mut rewound = 0;
                while rewound < u64::from(limit.get()) && self.inner.rewind(now, NonZeroU32::MIN).await? > 0 {
                    rewound += 1;
                    a_turn().await;
                }
                Ok(rewound)
            }
            _ => self.inner.rewind(now, limit).await,
        }
    }
}
