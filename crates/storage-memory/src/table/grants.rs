//! What the platform granted us to do in users' names.

use crate::{
    journal::Journal,
    state::MemoryStorage,
    table::{Table, gone},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Subject, Tally},
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use std::{collections::HashMap, num::NonZeroU32};

/// Grants by their user.
#[derive(Default)]
pub(crate) struct Grants {
    by_user: HashMap<UserId, Held>,
    /// The highest version ever written. One count for all users: a grant that is removed and made anew never repeats
    /// a version that a slow refresh still has in hand.
    newest: u64,
}

struct Held {
    grant: Grant,
    claimed_until: Option<Timestamp>,
}

impl Grants {
    pub(crate) fn all(&self) -> impl Iterator<Item = (UserId, &Grant)> {
        self.by_user.iter().map(|(user, held)| (*user, &held.grant))
    }

    pub(crate) fn has(&self, user: UserId) -> bool {
        self.by_user.contains_key(&user)
    }

    /// Whether the grant still has this version.
    pub(crate) fn is_at(&self, user: UserId, version: GrantVersion) -> bool {
        self.by_user.get(&user).is_some_and(|held| held.grant.version == version)
    }

    /// Writes a grant, whatever was there.
    pub(crate) fn replace(
        &mut self,
        user: UserId,
        content: &GrantContent,
        journal: &mut Journal,
    ) -> GrantVersion {
        let version = self.next_version();
        self.put(user, Grant { version, content: content.clone() }, journal);
        version
    }

    /// The grant, where it still has this version.
    fn at(&mut self, user: UserId, version: GrantVersion) -> Option<&mut Held> {
        self.by_user.get_mut(&user).filter(|held| held.grant.version == version)
    }

    fn next_version(&self) -> GrantVersion {
        GrantVersion(self.newest.saturating_add(1))
    }
}

impl Table for Grants {
    type Key = UserId;
    type Row = Grant;

    fn keys(&self) -> Vec<UserId> {
        self.by_user.keys().copied().collect()
    }

    fn set(&mut self, key: UserId, row: Grant) -> Tally {
        if self.by_user.get(&key).is_some_and(|held| held.grant == row) {
            return Tally::NOTHING;
        }
        self.newest = self.newest.max(row.version.0);
        let earlier = self.by_user.insert(key, Held { grant: row, claimed_until: None });
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        gone(self.by_user.remove(key))
    }

    fn subject(key: &UserId) -> Subject {
        Subject::Grant(*key)
    }
}

#[async_trait]
impl GrantStore for MemoryStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        Ok(self.write(|state, journal| state.grants.replace(user, content, journal)))
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        Ok(self.read().grants.by_user.get(&user).map(|held| held.grant.clone()))
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        Ok(self.write(|state, _| {
            let Some(held) = state.grants.at(user, version) else { return Claimed::Gone };
            match held.claimed_until {
                Some(end) if dead != Some(end) => Claimed::Held(end),
                Some(_) | None => {
                    held.claimed_until = Some(until);
                    Claimed::Granted
                }
            }
        }))
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write(|state, _| {
            if let Some(held) = state.grants.at(user, version) {
                held.claimed_until = None;
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
        let content = content.clone();
        self.write(|state, journal| {
            let next = state.grants.next_version();
            let Some(held) = state.grants.at(user, version) else {
                return Err(StoreError::conflict("the grant was replaced or removed"));
            };
            let claimed_until = match claim {
                ClaimAfter::Kept => held.claimed_until,
                ClaimAfter::Released => None,
            };
            *held = Held { grant: Grant { version: next, content }, claimed_until };
            state.grants.newest = next.0;
            journal.note(Grants::subject(&user));
            Ok(next)
        })
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
        Ok(page(self.read().grants.by_user.keys().copied(), after, limit))
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let state = self.read();
        let unused = state.grants.by_user.keys().copied().filter(|user| !state.sessions.has_any(*user));
        Ok(page(unused, after, limit))
    }
}

/// The next users by their number.
fn page(users: impl Iterator<Item = UserId>, after: Option<UserId>, limit: NonZeroU32) -> Vec<UserId> {
    let mut users: Vec<_> = users.filter(|user| after.is_none_or(|after| *user > after)).collect();
    users.sort_unstable();
    users.truncate(limit.get() as usize);
    users
}
