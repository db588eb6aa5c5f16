//! Ports over sessions, grants, used codes and pauses of the platform.

use crate::{state::MemoryStorage, tables::Tables};
use async_trait::async_trait;
use companion_domain::{
    change::{Journal, Key, Kind},
    model::{CodeFingerprint, Timestamp, UserId},
    port::{
        ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, PlatformPause, PlatformPauses,
        Record, SessionStore, SignIns, SpentCodes, StoreError,
    },
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use std::num::NonZeroU32;

impl Tables {
    /// Writes a grant unconditionally.
    fn replace_grant(&mut self, user: UserId, content: GrantContent, journal: &mut Journal) -> GrantVersion {
        let version = self.next_grant();
        self.put(Record::Grant(user, Grant { version, content }), journal);
        version
    }

    /// Ends these sessions, and returns them.
    fn end(&mut self, sessions: Vec<Session>, journal: &mut Journal) -> Vec<Session> {
        for session in &sessions {
            self.remove(&Key::Session(session.id), journal);
        }
        sessions
    }

    /// Returns the next users with a grant, in order of their ids, that satisfy the predicate.
    fn holders(
        &self,
        after: Option<UserId>,
        limit: NonZeroU32,
        which: impl Fn(UserId) -> bool,
    ) -> Vec<UserId> {
        let user = |record: &Record| if let Record::Grant(user, _) = record { Some(*user) } else { None };
        let users = self.all(Kind::Grant).filter_map(user).filter(|user| Some(*user) > after);
        users.filter(|user| which(*user)).take(limit.get() as usize).collect()
    }
}

#[async_trait]
impl GrantStore for MemoryStorage {
    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        Ok(self.read().grant(user).cloned())
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        Ok(self.write(|state, _| {
            if !state.has_grant(user, version) {
                return Claimed::Gone;
            }
            match state.claims.get(&user) {
                Some(end) if dead != Some(*end) => Claimed::Held(*end),
                Some(_) | None => {
                    state.claims.insert(user, until);
                    Claimed::Granted
                }
            }
        }))
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write(|state, _| {
            if state.has_grant(user, version) {
                state.claims.remove(&user);
            }
        });
        Ok(())
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        self.write(|state, journal| {
            if !state.has_grant(user, version) {
                return Err(StoreError::conflict("the grant was replaced or removed"));
            }
            let claimed = state.claims.get(&user).copied().filter(|_| claim == ClaimAfter::Kept);
            let next = state.replace_grant(user, content.clone(), journal);
            state.claims.extend(claimed.map(|until| (user, until)));
            Ok(next)
        })
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        Ok(self.write(|state, journal| {
            let unused = state.sessions_of(user).is_empty() && state.has_grant(user, version);
            if unused {
                state.remove(&Key::Grant(user), journal);
            }
            unused
        }))
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        Ok(self.read().holders(after, limit, |_| true))
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let state = self.read();
        Ok(state.holders(after, limit, |user| state.sessions_of(user).is_empty()))
    }
}

#[async_trait]
impl SessionStore for MemoryStorage {
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        Ok(self.read().session(id).cloned())
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Not a change: a session that is used again has neither begun nor ended.
        self.write(|state, _| {
            for (id, time) in seen.as_slice() {
                if let Some(mut session) = state.session(id).cloned() {
                    session.last_seen_at = session.last_seen_at.max(*time);
                    state.set(Record::Session(session));
                }
            }
        });
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.read().sessions_of(user))
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        Ok(u64::try_from(self.read().contents::<Session>().count()).ok())
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        Ok(self.write(|state, journal| {
            let ending = state.session(id).cloned();
            state.end(ending.into_iter().collect(), journal).pop()
        }))
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        Ok(self.write(|state, journal| {
            let ending = state.session(id).filter(|session| ended.has_ended(session)).cloned();
            state.end(ending.into_iter().collect(), journal).pop()
        }))
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.write(|state, journal| state.end(state.sessions_of(user), journal)))
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        // The search runs under the shared lock, so that no reader waits for it.
        let over: Vec<_> = {
            let state = self.read();
            let over = state.contents().filter(|session: &&Session| ended.has_ended(session));
            over.map(|session| session.id).take(limit.get() as usize).collect()
        };
        Ok(self.write(|state, journal| {
            let ending = over.iter().filter_map(|id| state.session(id));
            let ending = ending.filter(|session| ended.has_ended(session)).cloned().collect();
            state.end(ending, journal)
        }))
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        let back = |time: Timestamp| if time > now.horizon() { now } else { time };
        let rewound = |session: &Session| Session {
            created_at: back(session.created_at),
            last_seen_at: back(session.last_seen_at),
            ..session.clone()
        };
        Ok(self.write(|state, journal| {
            let ahead = state.contents().filter(|session| rewound(session) != **session);
            let rewound: Vec<_> = ahead.map(rewound).take(limit.get() as usize).collect();
            let count = rewound.len() as u64;
            for session in rewound {
                state.put(Record::Session(session), journal);
            }
            count
        }))
    }
}

#[async_trait]
impl SignIns for MemoryStorage {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        self.write(|state, journal| {
            if state.session(&session.id).is_some() {
                return Err(StoreError::conflict("there is a session with this id"));
            }
            let gone = state.end(exceeding(state.sessions_of(session.user), cap, ended), journal);
            state.put(Record::Session(session.clone()), journal);
            state.replace_grant(session.user, grant.clone(), journal);
            Ok(gone)
        })
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self.write(|state, journal| {
            if !state.has_grant(user, version) {
                return None;
            }
            state.remove(&Key::Grant(user), journal);
            Some(state.end(state.sessions_of(user), journal))
        }))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self.write(|state, journal| match state.grant(user) {
            Some(_) => None,
            None => Some(state.end(state.sessions_of(user), journal)),
        }))
    }
}

#[async_trait]
impl SpentCodes for MemoryStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.write(|state, _| state.spent_codes.spend(*code, now, until)))
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        self.write(|state, _| state.spent_codes.restore(*code));
        Ok(())
    }
}

#[async_trait]
impl PlatformPauses for MemoryStorage {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        self.write(|state, _| {
            let known = state.platform_pause.and_then(|known| known.left(pause.said_at));
            if known < Some(pause.wait) {
                state.platform_pause = Some(pause);
            }
        });
        Ok(())
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        Ok(self.read().platform_pause)
    }
}
