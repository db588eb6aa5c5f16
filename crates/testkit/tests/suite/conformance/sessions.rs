//! Wrong session stores. Some are wrong only with many sessions, cancelled callers, or later uses.

use crate::conformance::proof::{Rendezvous, a_turn, a_while, faults, handles, locked, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{GrantContent, GrantVersion, SessionStore, SignIns, StoreError, Stores},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{conformance::Fresh, world::NONE_ENDED};
use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::MutexGuard;

faults! {
    fn proofs, enum Fault {}
    session_store(wrong) {
        expiry_is_exact_to_the_microsecond:
            PruneLate "a session is pruned a microsecond late",
            ExpiresTheLiving "a live session is expired",
            ExpiresLate "a session expires a microsecond late";
        the_cap_evicts_ended_sessions_then_the_oldest:
            CapOfEleven "the cap is exceeded by one",
            NewestGoes "the newest session is evicted instead of the oldest",
            OverIgnored "a live session is evicted before an ended one",
            CapOverAllUsers "sessions of one user evict those of another",
            DateAheadStays "a session dated ahead is kept, and a newer one evicted";
        concurrent_callers_never_exceed_the_cap: CapNotAtomic "adding and evicting are two steps";
        a_touch_only_advances_the_last_use:
            TouchMovesBack "a touch moves the last use back",
            TouchRevives "a touch revives a session",
            FindLeaks "an unknown id finds the session of another user";
        sessions_are_found_counted_and_listed_by_user_oldest_first:
            ForgetsTheDevice "the user agent is not stored",
            ListLeaks "the list of a user contains another's session",
            NewestFirst "sessions are listed newest first";
        revoke_ends_one_session_and_is_idempotent:
            RevokeOnAbsentFails "revoking an absent session is an error",
            RemembersTheRevoked "a second handle still finds a revoked session";
        a_cached_session_equals_the_stored_one: CacheIsStale "an ended session is still cached";
        one_touch_accepts_the_maximum_number_of_uses:
            TouchesHundred "a touch records only the first hundred uses",
            TouchTakesTheLast "the last of several uses counts, not the latest";
        exactly_one_concurrent_caller_ends_a_session: ExpiredTwice "two callers expire the same session";
        rewind_sets_only_times_beyond_the_horizon:
            RewindsEarly "a time within the clock tolerance is rewound",
            RewindsNothing "a time ahead is not rewound";
        handles_very_many_sessions_of_a_user:
            EvictsTen "a sign-in evicts at most ten sessions",
            RevokesTen "revoking a user ends at most ten sessions";
        prune_fills_its_limit_while_sessions_remain:
            PruneWithoutLimit "prune ignores its limit",
            RewindWithoutLimit "rewind ignores its limit";
        a_cancelled_write_is_complete_or_absent:
            TouchesInSteps "a cancelled touch is partially applied",
            RevokesInSteps "a cancelled revocation is partially applied",
            PrunesInSteps "a cancelled prune is partially applied";
        every_byte_of_an_id_counts:
            EndsByPrefix "sessions are ended by the first half of their id";
        every_operation_honours_recorded_uses:
            RevokedAsMade "an ended session is returned as created",
            ListedByUse "sessions are listed by their last use",
            PrunesAsMade "prune ignores uses";
    }
    sign_ins(wrong) {
        an_existing_id_is_a_conflict_and_writes_neither: ConflictOverwrites "an existing id is overwritten";
        a_cancelled_write_leaves_both_or_neither:
            MakesInSteps "a cancelled sign-in has evicted without adding";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    let (inner, shared) = (memory(), Arc::default());
    handles(|| {
        let mut stores = Stores::of(&inner);
        let (inner, shared) = (Arc::clone(&inner), Arc::clone(&shared));
        let wrong = Arc::new(Wrong { inner, fault, shared, found: Mutex::default() });
        (stores.sessions, stores.sign_ins) = (wrong.clone(), wrong);
        Arc::new(stores)
    })
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    shared: Arc<Shared>,
    /// Sessions found through this handle.
    found: Mutex<HashMap<TokenHash, Session>>,
}

/// State shared by both handles.
#[derive(Default)]
struct Shared {
    /// Every session ever created, as created.
    made: Mutex<Vec<Session>>,
    /// Sessions revoked individually.
    ended: Mutex<HashMap<TokenHash, Session>>,
    turn: tokio::sync::Mutex<()>,
    /// Callers that have found the session to expire.
    readers: Rendezvous,
}

const NO_LIMIT: NonZeroU32 = NonZeroU32::MAX;
const MICROSECOND: Duration = Duration::from_micros(1);

fn half(id: &TokenHash) -> Option<&[u8]> {
    id.as_bytes().get(..16)
}

/// Returns cutoffs a microsecond earlier.
fn late(ended: Cutoffs) -> Cutoffs {
    let (created, seen) = (ended.created.before(MICROSECOND), ended.seen.before(MICROSECOND));
    Cutoffs { created, seen, ..ended }
}

impl Wrong {
    /// Serializes writers, so that only cancelled callers observe the fault.
    async fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        match self.fault {
            Fault::CapNotAtomic => None,
            _ => Some(self.shared.turn.lock().await),
        }
    }

    fn made(&self) -> Vec<Session> {
        locked(&self.shared.made).clone()
    }

    fn note(&self, session: &Session) {
        let mut made = locked(&self.shared.made);
        made.retain(|earlier| earlier.id != session.id);
        made.push(session.clone());
    }

    fn as_made(&self, session: Session) -> Session {
        self.made().into_iter().find(|made| made.id == session.id).unwrap_or(session)
    }

    fn buried(&self, id: &TokenHash) -> Option<Session> {
        locked(&self.shared.ended).get(id).cloned()
    }

    /// Returns the ended sessions that still exist, newest first. The predicate sees each as created, and as stored.
    async fn over(&self, judge: impl Fn(&Session, &Session) -> bool) -> Result<Vec<Session>, StoreError> {
        let mut over = Vec::new();
        for made in self.made().into_iter().rev() {
            over.extend(self.inner.find(&made.id).await?.filter(|found| judge(&made, found)));
        }
        Ok(over)
    }

    /// Ends the first of these, and returns them.
    async fn end(&self, sessions: Vec<Session>, most: usize) -> Result<Vec<Session>, StoreError> {
        let mut gone = Vec::new();
        for session in sessions.iter().take(most) {
            gone.extend(self.inner.revoke(&session.id).await?);
            if let Fault::RevokesInSteps | Fault::PrunesInSteps = self.fault {
                a_turn().await;
            }
        }
        Ok(gone)
    }
}

#[async_trait]
impl SessionStore for Wrong {
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let found = self.inner.find(id).await?;
        Ok(match self.fault {
            Fault::FindLeaks => found.or(self.made().first().cloned()),
            Fault::ForgetsTheDevice => found.map(|session| Session { user_agent: None, ..session }),
            Fault::RemembersTheRevoked => {
                let mut remembered = locked(&self.found);
                remembered.extend(found.clone().map(|session| (session.id, session)));
                found.or(remembered.get(id).cloned().filter(|_| self.buried(id).is_some()))
            }
            _ => found,
        })
    }

    fn cached(&self, id: &TokenHash) -> Option<Session> {
        if self.fault == Fault::CacheIsStale { self.buried(id) } else { None }
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        let most = if self.fault == Fault::TouchesHundred { 100 } else { usize::MAX };
        for used in seen.as_slice().iter().take(most) {
            let (id, time) = used;
            let touched = match (self.fault, self.inner.find(id).await?, self.buried(id)) {
                (Fault::TouchMovesBack, Some(session), _) | (Fault::TouchRevives, None, Some(session)) => {
                    Session { last_seen_at: *time, ..session }
                }
                (Fault::TouchTakesTheLast, Some(session), _) => {
                    let last = seen.as_slice().iter().rfind(|(other, _)| other == id);
                    let last = last.map_or(*time, |(_, time)| *time).max(session.last_seen_at);
                    Session { last_seen_at: last, ..session }
                }
                _ => {
                    self.inner.touch(Uses::one(used)).await?;
                    if self.fault == Fault::TouchesInSteps {
                        a_turn().await;
                    }
                    continue;
                }
            };
            self.inner.revoke(id).await?;
            self.inner.begin(&touched, NO_LIMIT, NONE_ENDED, &GrantContent::default()).await?;
        }
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.inner.of_user(user).await?;
        match self.fault {
            Fault::ListLeaks => sessions.extend(self.made().into_iter().find(|made| made.user != user)),
            Fault::NewestFirst => sessions.reverse(),
            Fault::ListedByUse => sessions.sort_by_key(|session| session.last_seen_at),
            _ => {}
        }
        Ok(sessions)
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        self.inner.count().await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let revoked = self.inner.revoke(id).await?;
        locked(&self.found).remove(id);
        locked(&self.shared.ended).extend(revoked.clone().map(|session| (*id, session)));
        match self.fault {
            Fault::RevokeOnAbsentFails if revoked.is_none() => {
                return Err(StoreError::conflict("there is no such session"));
            }
            Fault::RevokedAsMade => return Ok(revoked.map(|session| self.as_made(session))),
            Fault::EndsByPrefix => {
                for made in self.made().iter().filter(|made| half(&made.id) == half(id)) {
                    self.inner.revoke(&made.id).await?;
                }
            }
            _ => {}
        }
        Ok(revoked)
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let found = self.inner.find(id).await?;
        match (self.fault, found) {
            (Fault::ExpiresTheLiving, _) => self.inner.revoke(id).await,
            (Fault::ExpiresLate, _) => self.inner.expire(id, late(ended)).await,
            (Fault::ExpiredTwice, found) => {
                self.shared.readers.wait().await;
                self.inner.expire(id, ended).await?;
                Ok(found.filter(|session| ended.has_ended(session)))
            }
            _ => self.inner.expire(id, ended).await,
        }
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let _turn = self.turn().await;
        let sessions = self.inner.of_user(user).await?;
        match self.fault {
            Fault::RevokesTen => self.end(sessions, 10).await,
            Fault::RevokesInSteps => self.end(sessions, usize::MAX).await,
            _ => self.inner.revoke_user(user).await,
        }
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let _turn = self.turn().await;
        let most = limit.get() as usize;
        match self.fault {
            Fault::PruneLate => self.inner.prune(late(ended), limit).await,
            Fault::PruneWithoutLimit => self.inner.prune(ended, NO_LIMIT).await,
            Fault::PrunesAsMade => self.end(self.over(|made, _| ended.has_ended(made)).await?, most).await,
            Fault::PrunesInSteps => self.end(self.over(|_, found| ended.has_ended(found)).await?, most).await,
            _ => self.inner.prune(ended, limit).await,
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        match self.fault {
            Fault::RewindsEarly => self.inner.rewind(now.before(MICROSECOND), limit).await,
            Fault::RewindWithoutLimit => self.inner.rewind(now, NO_LIMIT).await,
            Fault::RewindsNothing => Ok(0),
            _ => self.inner.rewind(now, limit).await,
        }
    }
}

#[async_trait]
impl SignIns for Wrong {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let _turn = self.turn().await;
        let most = cap.get() as usize;
        let mut before = self.inner.of_user(session.user).await?;
        let full = before.len() >= most;
        let gone = match self.fault {
            Fault::CapOfEleven => {
                return self.inner.begin(session, cap.saturating_add(1), ended, grant).await;
            }
            Fault::OverIgnored => return self.inner.begin(session, cap, NONE_ENDED, grant).await,
            Fault::DateAheadStays => {
                let ended = Cutoffs { ahead: NONE_ENDED.ahead, ..ended };
                return self.inner.begin(session, cap, ended, grant).await;
            }
            Fault::ConflictOverwrites => {
                self.inner.revoke(&session.id).await?;
                vec![]
            }
            _ if self.inner.find(&session.id).await?.is_some() => {
                return Err(StoreError::conflict("there is a session with this id"));
            }
            Fault::CapOverAllUsers if self.made().len() >= most => self.end(self.made(), 1).await?,
            Fault::NewestGoes if full => self.end(before.split_off(most - 1), most).await?,
            Fault::CapNotAtomic => {
                a_while().await;
                let excess = (before.len() + 1).saturating_sub(most);
                self.end(before, excess).await?
            }
            Fault::EvictsTen if full => self.end(exceeding(before, cap, ended), 10).await?,
            Fault::MakesInSteps => {
                let gone = self.end(exceeding(before, cap, ended), most).await?;
                a_turn().await;
                gone
            }
            _ => {
                let gone = self.inner.begin(session, cap, ended, grant).await?;
                self.note(session);
                return Ok(gone);
            }
        };
        self.inner.begin(session, NO_LIMIT, ended, grant).await?;
        self.note(session);
        Ok(gone)
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        SignIns::end(&*self.inner, user, version).await
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.inner.end_without_grant(user).await
    }
}
