//! Sessions.

use crate::{
    journal::Journal,
    sign_ins::end_all,
    state::MemoryStorage,
    table::{Table, gone, set},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use std::{
    collections::{BTreeSet, HashMap},
    num::NonZeroU32,
};

/// Sessions by their id, and each user's in order of creation.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: HashMap<TokenHash, Session>,
    of_user: HashMap<UserId, BTreeSet<(Timestamp, TokenHash)>>,
}

impl Sessions {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    pub(crate) fn has_any(&self, user: UserId) -> bool {
        self.of_user.contains_key(&user)
    }

    /// A user's sessions, the oldest first.
    pub(crate) fn of_user(&self, user: UserId) -> impl Iterator<Item = &Session> {
        let ids = self.of_user.get(&user).into_iter().flatten();
        ids.filter_map(|(_, id)| self.by_id.get(id))
    }

    /// Adds a session, and takes away those that are too many.
    pub(crate) fn create(
        &mut self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        journal: &mut Journal,
    ) -> Result<Vec<Session>, StoreError> {
        if self.by_id.contains_key(&session.id) {
            return Err(StoreError::conflict("there is a session with this id"));
        }
        let gone = exceeding(self.of_user(session.user).copied().collect(), cap, ended);
        for old in &gone {
            self.remove(&old.id, journal);
        }
        self.put(session.id, *session, journal);
        Ok(gone)
    }

    fn take(&mut self, id: &TokenHash) -> Option<Session> {
        let session = self.by_id.remove(id)?;
        if let Some(ids) = self.of_user.get_mut(&session.user) {
            ids.remove(&(session.created_at, session.id));
            if ids.is_empty() {
                self.of_user.remove(&session.user);
            }
        }
        Some(session)
    }
}

impl Table for Sessions {
    type Key = TokenHash;
    type Row = Session;

    fn keys(&self) -> Vec<TokenHash> {
        self.by_id.keys().copied().collect()
    }

    fn set(&mut self, key: TokenHash, row: Session) -> Tally {
        if self.by_id.get(&key) == Some(&row) {
            return Tally::NOTHING;
        }
        let earlier = self.take(&key);
        self.of_user.entry(row.user).or_default().insert((row.created_at, key));
        set(&mut self.by_id, key, row);
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &TokenHash) -> Tally {
        gone(self.take(key))
    }

    fn subject(key: &TokenHash) -> Subject {
        Subject::Session(*key)
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
        Ok(self.read().sessions.by_id.get(id).copied())
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Use is no news: a session that is seen again has neither begun nor ended.
        self.write(|state, _| {
            for (id, time) in seen.as_slice() {
                if let Some(session) = state.sessions.by_id.get_mut(id) {
                    session.last_seen_at = session.last_seen_at.max(*time);
                }
            }
        });
        Ok(())
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.read().sessions.of_user(user).copied().collect())
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        Ok(self.write(|state, journal| {
            let session = state.sessions.by_id.get(id).copied();
            state.sessions.remove(id, journal);
            session
        }))
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        Ok(self.write(|state, journal| {
            let over = state.sessions.by_id.get(id).copied().filter(|session| ended.end(session));
            if over.is_some() {
                state.sessions.remove(id, journal);
            }
            over
        }))
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        Ok(self.write(|state, journal| end_all(state, user, journal)))
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        // All sessions are looked at under the shared lock, so that nobody waits for the search.
        let over: Vec<_> = {
            let state = self.read();
            state
                .sessions
                .all()
                .filter(|session| ended.end(session))
                .map(|session| session.id)
                .take(limit)
                .collect()
        };
        Ok(self.write(|state, journal| {
            let still_over = |id| state.sessions.by_id.get(id).copied().filter(|session| ended.end(session));
            let sessions: Vec<_> = over.iter().filter_map(still_over).collect();
            for session in &sessions {
                state.sessions.remove(&session.id, journal);
            }
            sessions
        }))
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        let back = |time: Timestamp| if time > now.horizon() { now } else { time };
        let rewound = |session: &Session| Session {
            created_at: back(session.created_at),
            last_seen_at: back(session.last_seen_at),
            ..*session
        };
        Ok(self.write(|state, journal| {
            let changed = state.sessions.all().map(rewound);
            let changed = changed.filter(|session| state.sessions.by_id.get(&session.id) != Some(session));
            let changed: Vec<_> = changed.take(limit).collect();
            for session in &changed {
                state.sessions.put(session.id, *session, journal);
            }
            changed.len() as u64
        }))
    }
}
