//! Sessions.

use crate::{keyed::Table, state::MemoryStorage};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::num::NonZeroU32;

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
            .write(|state, journal| state.sessions.end(&[*id], |session| ended.end(session), journal))
            .pop())
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.write(|state, journal| state.sessions.end_all(user, journal)))
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        // All sessions are looked at under the shared lock, so that nobody waits for the search.
        let over: Vec<_> = {
            let state = self.read();
            let over = state.sessions.all().filter(|session| ended.end(session));
            over.map(|session| session.id).take(limit).collect()
        };
        Ok(self.write(|state, journal| state.sessions.end(&over, |session| ended.end(session), journal)))
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
