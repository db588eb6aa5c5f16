//! Wrong session stores.

mod lazy;

use crate::conformance::proof::{Proof, Workshop, memory};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, session_store::SUITE};
use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    PruneLate,
    PruneEarly,
    PruneWithoutLimit,
    CapOfEleven,
    NewestGoes,
    OverIgnored,
    CapOverAllUsers,
    CapNotAtomic,
    ConflictOverwrites,
    TouchMovesBack,
    TouchRevives,
    FindLeaks,
    ForgetsTheDevice,
    FindIsStale,
    AtHandIsStale,
    RevokeOnAbsentFails,
    ListLeaks,
    NewestFirst,
    RevokeUserKeepsOne,
    DateAheadStays,
    TouchTakesTheLast,
    ExpiresTheLiving,
    ExpiresLate,
    ExpiredTwice,
    RewindsEarly,
    RewindWithoutLimit,
    RewindsNothing,
    CountsTheEnded,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "session_store",
        behaviours: SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| {
            Fresh::new(Arc::new(Wrong {
                inner: memory(),
                fault,
                seen: Mutex::default(),
                ended: Mutex::default(),
            }))
        },
    };
    let boundary = "prune_takes_what_is_over_to_the_microsecond_and_nothing_else";
    let eleventh = "the_eleventh_session_takes_the_oldest_away";
    let revoking = "revoking_ends_one_session_and_can_be_repeated";
    let expiring = "a_session_expires_to_the_microsecond_and_not_while_it_lives";
    let rewinding = "times_beyond_the_horizon_are_set_to_now_and_no_others";
    let listing = "sessions_of_a_user_come_oldest_first_over_or_not";
    let mut proofs = workshop.proofs(&[
        (F::PruneLate, "a session outlives its end by a microsecond", boundary),
        (F::PruneEarly, "a session ends a microsecond early", boundary),
        (
            F::PruneWithoutLimit,
            "prune takes no notice of its limit",
            "prune_takes_at_most_the_limit_and_the_rest_later",
        ),
        (F::CapOfEleven, "a cap of eleven for ten", eleventh),
        (F::NewestGoes, "the newest session goes instead of the oldest", eleventh),
        (
            F::OverIgnored,
            "a live session goes before one that is over",
            "sessions_that_are_over_go_before_older_live_ones",
        ),
        (F::CapOverAllUsers, "one user's sessions push out another's", "the_cap_counts_each_user_alone"),
        (F::CapNotAtomic, "adding and making room are two steps", "callers_at_once_never_exceed_the_cap"),
        (
            F::ConflictOverwrites,
            "an id that exists is overwritten",
            "an_id_that_exists_is_a_conflict_and_changes_nothing",
        ),
        (F::TouchMovesBack, "a touch moves the last use back", "a_touch_never_moves_back"),
        (F::TouchRevives, "a touch brings a session back", "a_touch_never_brings_a_session_back"),
        (F::FindLeaks, "an unknown id finds someone else's session", "a_touch_never_brings_a_session_back"),
        (
            F::ForgetsTheDevice,
            "what the device called itself is not kept",
            "a_session_is_found_as_it_was_made",
        ),
        (F::FindIsStale, "find remembers sessions that have ended", revoking),
        (
            F::AtHandIsStale,
            "a session that has ended is still at hand",
            "what_is_at_hand_is_what_would_be_found",
        ),
        (F::RevokeOnAbsentFails, "revoking what is gone is an error", revoking),
        (F::ListLeaks, "the list of a user shows another's session", listing),
        (F::NewestFirst, "sessions are listed newest first", listing),
        (
            F::RevokeUserKeepsOne,
            "one session survives revoking all",
            "all_sessions_of_a_user_are_revoked_oldest_first_and_once",
        ),
        (
            F::DateAheadStays,
            "a session dated ahead stays, and a newer one goes",
            "sessions_dated_ahead_go_before_those_that_were_made_since",
        ),
        (
            F::TouchTakesTheLast,
            "of several uses the last counts, not the latest",
            "one_touch_serves_many_sessions",
        ),
        (F::ExpiresTheLiving, "a session that lives is expired", expiring),
        (F::ExpiresLate, "a session expires a microsecond late", expiring),
        (
            F::ExpiredTwice,
            "two callers expire the same session",
            "of_callers_at_once_exactly_one_expires_a_session",
        ),
        (F::RewindsEarly, "a time that another clock may have is taken back", rewinding),
        (F::RewindsNothing, "a time that lies ahead stays", rewinding),
        (
            F::RewindWithoutLimit,
            "rewind takes no notice of its limit",
            "rewind_takes_at_most_the_limit_and_the_rest_later",
        ),
        (F::CountsTheEnded, "sessions that have ended are counted", "sessions_are_counted_where_they_can_be"),
    ]);
    proofs.extend(lazy::proofs());
    proofs
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    /// Every session that ever went through here.
    seen: Mutex<Vec<Session>>,
    ended: Mutex<HashMap<TokenHash, Session>>,
}

const MANY: NonZeroU32 = NonZeroU32::MAX;
const MICROSECOND: Duration = Duration::from_micros(1);
const NONE_OVER: Cutoffs =
    Cutoffs { created: Timestamp::EPOCH, seen: Timestamp::EPOCH, ahead: Timestamp::from_micros(i64::MAX) };

impl Wrong {
    fn sessions(&self) -> Vec<Session> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, session: &Session) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(session.clone());
    }

    fn bury(&self, session: &Session) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(session.id, session.clone());
    }

    fn buried(&self, id: &TokenHash) -> Option<Session> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }
}

#[async_trait]
impl SessionStore for Wrong {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let created = match self.fault {
            Fault::CapOfEleven => self.inner.create(session, cap.saturating_add(1), ended).await?,
            Fault::OverIgnored => self.inner.create(session, cap, NONE_OVER).await?,
            Fault::DateAheadStays => {
                self.inner.create(session, cap, Cutoffs { ahead: NONE_OVER.ahead, ..ended }).await?
            }
            Fault::ConflictOverwrites => {
                self.inner.revoke(&session.id).await?;
                self.inner.create(session, cap, ended).await?
            }
            Fault::NewestGoes => {
                let mut before = self.inner.of_user(session.user).await?;
                self.inner.create(session, MANY, ended).await?;
                let excess =
                    before.len().saturating_sub(usize::try_from(cap.get() - 1).unwrap_or(usize::MAX));
                let gone = before.split_off(before.len() - excess);
                for session in &gone {
                    self.inner.revoke(&session.id).await?;
                }
                gone
            }
            Fault::CapOverAllUsers => {
                self.inner.create(session, MANY, ended).await?;
                let mut gone = Vec::new();
                let all = self.sessions();
                if all.len() >= usize::try_from(cap.get()).unwrap_or(usize::MAX)
                    && let Some(first) = all.first()
                {
                    gone.extend(self.inner.revoke(&first.id).await?);
                }
                gone
            }
            Fault::CapNotAtomic => {
                let before = self.inner.of_user(session.user).await?;
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                self.inner.create(session, MANY, ended).await?;
                let excess =
                    before.len().saturating_sub(usize::try_from(cap.get() - 1).unwrap_or(usize::MAX));
                for session in before.iter().take(excess) {
                    self.inner.revoke(&session.id).await?;
                }
                before.into_iter().take(excess).collect()
            }
            _ => self.inner.create(session, cap, ended).await?,
        };
        self.note(session);
        Ok(created)
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let found = self.inner.find(id).await?;
        Ok(match self.fault {
            Fault::FindLeaks => found.or(self.sessions().first().cloned()),
            Fault::ForgetsTheDevice => found.map(|session| Session { user_agent: None, ..session }),
            Fault::FindIsStale => found.or(self.buried(id)),
            _ => found,
        })
    }

    fn at_hand(&self, id: &TokenHash) -> Option<Session> {
        if self.fault == Fault::AtHandIsStale { self.buried(id) } else { None }
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        for used in seen.as_slice() {
            let (id, time) = used;
            let found = self.inner.find(id).await?;
            match (self.fault, found, self.buried(id)) {
                (Fault::TouchMovesBack, Some(session), _) => {
                    self.inner.revoke(id).await?;
                    self.inner.create(&Session { last_seen_at: *time, ..session }, MANY, NONE_OVER).await?;
                }
                (Fault::TouchTakesTheLast, Some(session), _) => {
                    let last = seen.as_slice().iter().rfind(|(other, _)| other == id);
                    let last = last.map_or(*time, |(_, time)| *time).max(session.last_seen_at);
                    self.inner.revoke(id).await?;
                    self.inner.create(&Session { last_seen_at: last, ..session }, MANY, NONE_OVER).await?;
                }
                (Fault::TouchRevives, None, Some(session)) => {
                    self.inner.create(&Session { last_seen_at: *time, ..session }, MANY, NONE_OVER).await?;
                }
                _ => self.inner.touch(Uses::one(used)).await?,
            }
        }
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.inner.of_user(user).await?;
        match self.fault {
            Fault::ListLeaks => {
                sessions.extend(self.sessions().into_iter().find(|session| session.user != user));
            }
            Fault::NewestFirst => sessions.reverse(),
            _ => {}
        }
        Ok(sessions)
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        match self.fault {
            Fault::CountsTheEnded => Ok(u64::try_from(self.sessions().len()).ok()),
            _ => self.inner.count().await,
        }
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let revoked = self.inner.revoke(id).await?;
        if let Some(session) = &revoked {
            self.bury(session);
        }
        match (self.fault, revoked) {
            (Fault::RevokeOnAbsentFails, None) => Err(StoreError::conflict("there is no such session")),
            (_, revoked) => Ok(revoked),
        }
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        match self.fault {
            Fault::ExpiresTheLiving => self.inner.revoke(id).await,
            Fault::ExpiresLate => {
                let ended = Cutoffs {
                    created: ended.created.before(MICROSECOND),
                    seen: ended.seen.before(MICROSECOND),
                    ..ended
                };
                self.inner.expire(id, ended).await
            }
            Fault::ExpiredTwice => {
                let found = self.inner.find(id).await?;
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                self.inner.expire(id, ended).await?;
                Ok(found.filter(|session| ended.end(session)))
            }
            _ => self.inner.expire(id, ended).await,
        }
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let revoked = self.inner.revoke_user(user).await?;
        if let (Fault::RevokeUserKeepsOne, Some(session)) = (self.fault, revoked.last()) {
            self.inner.create(session, MANY, NONE_OVER).await?;
        }
        Ok(revoked)
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let moved = |move_on: fn(Timestamp) -> Timestamp| Cutoffs {
            created: move_on(ended.created),
            seen: move_on(ended.seen),
            ..ended
        };
        match self.fault {
            Fault::PruneLate => self.inner.prune(moved(|time| time.before(MICROSECOND)), limit).await,
            Fault::PruneEarly => self.inner.prune(moved(|time| time.after(MICROSECOND)), limit).await,
            Fault::PruneWithoutLimit => self.inner.prune(ended, MANY).await,
            _ => self.inner.prune(ended, limit).await,
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        match self.fault {
            Fault::RewindsEarly => self.inner.rewind(now.before(MICROSECOND), limit).await,
            Fault::RewindWithoutLimit => self.inner.rewind(now, MANY).await,
            Fault::RewindsNothing => Ok(0),
            _ => self.inner.rewind(now, limit).await,
        }
    }
}
