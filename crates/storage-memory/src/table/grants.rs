//! Grants: what the platform lets this service do on behalf of users.

use crate::{
    journal::Journal,
    keyed::{Table, removal_tally},
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantVersion, StoreError},
};
use std::{collections::HashMap, num::NonZeroU32};

/// Grants by user.
#[derive(Default)]
pub(crate) struct Grants {
    by_user: HashMap<UserId, StoredGrant>,
    /// The highest version ever written, over all users. A grant that is removed and created again never repeats a
    /// version that a slow refresh still holds.
    newest: u64,
}

struct StoredGrant {
    grant: Grant,
    claimed_until: Option<Timestamp>,
}

impl Grants {
    pub(crate) fn has(&self, user: UserId) -> bool {
        self.by_user.contains_key(&user)
    }

    /// Returns whether the grant still has this version.
    pub(crate) fn is_at(&self, user: UserId, version: GrantVersion) -> bool {
        self.by_user.get(&user).is_some_and(|stored| stored.grant.version == version)
    }

    /// Writes a grant unconditionally.
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

    pub(crate) fn find(&self, user: UserId) -> Option<Grant> {
        self.by_user.get(&user).map(|stored| stored.grant.clone())
    }

    /// Claims the refresh of a grant, unless another claim exists that is not known to be dead.
    pub(crate) fn claim(
        &mut self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Claimed {
        let Some(stored) = self.at(user, version) else { return Claimed::Gone };
        match stored.claimed_until {
            Some(end) if dead != Some(end) => Claimed::Held(end),
            Some(_) | None => {
                stored.claimed_until = Some(until);
                Claimed::Granted
            }
        }
    }

    pub(crate) fn release_claim(&mut self, user: UserId, version: GrantVersion) {
        if let Some(stored) = self.at(user, version) {
            stored.claimed_until = None;
        }
    }

    pub(crate) fn update(
        &mut self,
        user: UserId,
        version: GrantVersion,
        content: GrantContent,
        claim: ClaimAfter,
        journal: &mut Journal,
    ) -> Result<GrantVersion, StoreError> {
        let next = self.next_version();
        let Some(stored) = self.at(user, version) else {
            return Err(StoreError::conflict("the grant was replaced or removed"));
        };
        let claimed_until = match claim {
            ClaimAfter::Kept => stored.claimed_until,
            ClaimAfter::Released => None,
        };
        *stored = StoredGrant { grant: Grant { version: next, content }, claimed_until };
        self.newest = next.0;
        journal.note(Subject::Grant(user));
        Ok(next)
    }

    /// Returns the next users, in order of their ids, that satisfy the predicate.
    pub(crate) fn page(
        &self,
        after: Option<UserId>,
        limit: NonZeroU32,
        which: impl Fn(UserId) -> bool,
    ) -> Vec<UserId> {
        let users = self.by_user.keys().copied().filter(|user| after.is_none_or(|after| *user > after));
        let mut users: Vec<_> = users.filter(|user| which(*user)).collect();
        users.sort_unstable();
        users.truncate(limit.get() as usize);
        users
    }

    /// Returns the grant if it still has this version.
    fn at(&mut self, user: UserId, version: GrantVersion) -> Option<&mut StoredGrant> {
        self.by_user.get_mut(&user).filter(|stored| stored.grant.version == version)
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
        if self.by_user.get(&key).is_some_and(|stored| stored.grant == row) {
            return Tally::NOTHING;
        }
        self.newest = self.newest.max(row.version.0);
        let earlier = self.by_user.insert(key, StoredGrant { grant: row, claimed_until: None });
        if earlier.is_some() { Tally::CHANGED } else { Tally::ADDED }
    }

    fn unset(&mut self, key: &UserId) -> Tally {
        removal_tally(self.by_user.remove(key))
    }

    fn subject(&self, key: &UserId) -> Subject {
        Subject::Grant(*key)
    }
}
