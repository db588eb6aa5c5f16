//! Sessions.

use crate::{
    journal::{Index, Journal},
    keyed::{Table, removal_tally, set},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Timestamp, UserId},
    port::StoreError,
    session::{Cutoffs, Session, TokenHash, exceeding},
};
use std::{collections::HashMap, num::NonZeroU32};

/// Sessions by id, and the sessions of each user in order of creation.
#[derive(Default)]
pub(crate) struct Sessions {
    by_id: HashMap<TokenHash, Session>,
    of_user: Index<UserId, (Timestamp, TokenHash)>,
}

impl Sessions {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    pub(crate) fn find(&self, id: &TokenHash) -> Option<Session> {
        self.by_id.get(id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn has_any(&self, user: UserId) -> bool {
        self.of_user.has(&user)
    }

    /// Returns the sessions of a user, oldest first.
    pub(crate) fn of_user(&self, user: UserId) -> impl Iterator<Item = &Session> {
        self.of_user.of(&user).filter_map(|(_, id)| self.by_id.get(id))
    }

    /// Adds a session. Returns the sessions evicted because the user exceeded `cap`.
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
        let gone = exceeding(self.of_user(session.user).cloned().collect(), cap, ended);
        for old in &gone {
            self.remove(&old.id, journal);
        }
        self.put(session.id, session.clone(), journal);
        Ok(gone)
    }

    /// Advances the last use of a session. Not a change: a session that is used again has neither begun nor ended.
    pub(crate) fn touch(&mut self, id: &TokenHash, time: Timestamp) {
        if let Some(session) = self.by_id.get_mut(id) {
            session.last_seen_at = session.last_seen_at.max(time);
        }
    }

    /// Ends the sessions that satisfy the predicate, and returns them.
    pub(crate) fn end(
        &mut self,
        ids: &[TokenHash],
        which: impl Fn(&Session) -> bool,
        journal: &mut Journal,
    ) -> Vec<Session> {
        let ending = ids.iter().filter_map(|id| self.find(id)).filter(which);
        let ending: Vec<_> = ending.collect();
        for session in &ending {
            self.remove(&session.id, journal);
        }
        ending
    }

    /// Ends all sessions of a user, and returns them.
    pub(crate) fn end_all(&mut self, user: UserId, journal: &mut Journal) -> Vec<Session> {
        let ids: Vec<_> = self.of_user(user).map(|session| session.id).collect();
        self.end(&ids, |_| true, journal)
    }

    fn take(&mut self, id: &TokenHash) -> Option<Session> {
        let session = self.by_id.remove(id)?;
        self.of_user.remove(&session.user, &(session.created_at, session.id));
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
        self.of_user.insert(row.user, (row.created_at, key));
        set(&mut self.by_id, key, row);
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &TokenHash) -> Tally {
        removal_tally(self.take(key))
    }

    fn subject(&self, key: &TokenHash) -> Subject {
        Subject::Session(*key)
    }
}
