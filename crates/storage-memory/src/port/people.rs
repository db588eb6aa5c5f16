//! Ports over sessions, grants, used codes and pauses of the platform.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    model::{CodeFingerprint, Timestamp, UserId},
    port::{
        ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, PlatformPause, PlatformPauses,
        SessionStore, SignIns, SpentCodes, StoreError,
    },
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::num::NonZeroU32;

#[async_trait]
impl GrantStore for MemoryStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        Ok(self.write(|state, journal| state.grants.replace(user, content, journal)))
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        Ok(self.read().grants.find(user))
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        Ok(self.write(|state, _| state.grants.claim(user, version, until, dead)))
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write(|state, _| state.grants.release_claim(user, version));
        Ok(())
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write(|state, journal| state.grants.update(user, version, content, claim, journal))
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        Ok(self.write(|state, journal| {
            let same = state.grants.is_at(user, version);
            if same {
                Table::remove(&mut state.grants, &user, journal);
            }
            same
        }))
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        Ok(self.write(|state, journal| {
            let unused = !state.sessions.has_any(user) && state.grants.is_at(user, version);
            if unused {
                Table::remove(&mut state.grants, &user, journal);
            }
            unused
        }))
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        Ok(self.read().grants.page(after, limit, |_| true))
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let state = self.read();
        Ok(state.grants.page(after, limit, |user| !state.sessions.has_any(user)))
    }
}

#[async_trait]
impl SessionStore for MemoryStorage {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        self.write(|state, journal| state.sessions.create(session, cap, ended, journal))
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        Ok(self.read().sessions.find(id))
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        self.write(|state, _| {
            for (id, time) in seen.as_slice() {
                state.sessions.touch(id, *time);
            }
        });
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.read().sessions.of_user(user).cloned().collect())
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        Ok(u64::try_from(self.read().sessions.len()).ok())
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        Ok(self.write(|state, journal| state.sessions.end(&[*id], |_| true, journal)).pop())
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        Ok(self
            .write(|state, journal| state.sessions.end(&[*id], |session| ended.has_ended(session), journal))
            .pop())
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.write(|state, journal| state.sessions.end_all(user, journal)))
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        // The search runs under the shared lock, so that no reader waits for it.
        let over: Vec<_> = {
            let state = self.read();
            let over = state.sessions.all().filter(|session| ended.has_ended(session));
            over.map(|session| session.id).take(limit).collect()
        };
        Ok(self
            .write(|state, journal| state.sessions.end(&over, |session| ended.has_ended(session), journal)))
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        let back = |time: Timestamp| if time > now.horizon() { now } else { time };
        let rewound = |session: &Session| Session {
            created_at: back(session.created_at),
            last_seen_at: back(session.last_seen_at),
            ..session.clone()
        };
        Ok(self.write(|state, journal| {
            let changed = state.sessions.all().map(rewound);
            let changed = changed.filter(|session| state.sessions.find(&session.id) != Some(session.clone()));
            let changed: Vec<_> = changed.take(limit).collect();
            for session in &changed {
                state.sessions.put(session.id, session.clone(), journal);
            }
            changed.len() as u64
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
            let gone = state.sessions.create(session, cap, ended, journal)?;
            state.grants.replace(session.user, grant, journal);
            Ok(gone)
        })
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self.write(|state, journal| {
            if !state.grants.is_at(user, version) {
                return None;
            }
            state.grants.remove(&user, journal);
            Some(state.sessions.end_all(user, journal))
        }))
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        Ok(self
            .write(|state, journal| (!state.grants.has(user)).then(|| state.sessions.end_all(user, journal))))
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
