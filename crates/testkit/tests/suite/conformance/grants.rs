//! Wrong grant stores.

use crate::conformance::proof::{Rendezvous, a_turn, faults, locked, with};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError, Stores},
};
use companion_testkit::over::{GrantStoreOver, Over};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

faults! {
    fn proofs, enum Fault {}
    grant_store(|fault| with(|stores| stores.grants = wrong(stores.clone(), fault))) {
        only_the_current_version_is_updated_or_removed:
            UpdateIgnoresVersion "an update of a stale version is written (a lost update)",
            RemoveIgnoresVersion "a stale version can be removed";
        exactly_one_concurrent_update_succeeds: UpdateNotAtomic "the version is compared and written in two steps";
        a_claim_is_held_until_it_is_released_or_taken_over:
            ClaimNeverTakenOver "a dead claim is never taken over",
            ClaimTakenOverByAnyName "a claim is taken over by naming another",
            ClaimRunsOut "a claim expires by its date",
            ClaimedTwice "a claim is granted twice";
        a_claim_is_for_one_version_of_one_grant:
            ClaimIgnoresVersion "a claim on any version is granted";
        an_update_keeps_or_ends_the_claim_as_requested:
            KeptClaimEnds "a claim to be kept ends",
            ReleasedClaimGoesOn "a claim to be ended is kept";
        users_are_separate: FindIsAnotherUsers "a user gets the grant of another";
        pages_list_each_holder_and_each_unused_grant_once:
            PagesOverlap "a page repeats the last entry of the previous one",
            HoldersByTheHundred "a page of holders has at most a hundred, whatever its limit",
            StartsOverAfterTheGone "paging after a removed user starts over";
        exactly_one_concurrent_removal_succeeds: RemovedTwice "two callers remove the same grant";
        a_grant_is_found_as_it_was_last_written:
            UpdateKeepsTokens "an update cannot remove tokens",
            TokensCut "sealed tokens are truncated to a thousand bytes",
            ListCut "a list is truncated to a thousand guilds",
            ListsEachGuildOnce "a guild listed twice is stored once",
            NamesLost "names of guilds without the bot are not stored";
        a_cancelled_write_is_complete_or_absent:
            UpdatesInSteps "a cancelled update has tokens and no list";
        a_grant_is_unused_once_its_user_has_no_session:
            RemovesWhileInUse "the grant of a user with a session is removed",
            ListsThoseInUse "a grant in use is listed as unused";
    }
}

struct Wrong {
    stores: Stores,
    fault: Fault,
    first_user: Mutex<Option<UserId>>,
    claimed_until: Mutex<Option<Timestamp>>,
    turn: tokio::sync::Mutex<()>,
    /// Callers that have read the grant.
    readers: Rendezvous,
}

fn wrong(stores: Stores, fault: Fault) -> Arc<dyn GrantStore> {
    Arc::new(Over(Wrong {
        stores,
        fault,
        first_user: Mutex::default(),
        claimed_until: Mutex::default(),
        turn: tokio::sync::Mutex::default(),
        readers: Rendezvous::default(),
    }))
}

impl Wrong {
    fn first_user(&self, user: UserId) -> UserId {
        *locked(&self.first_user).get_or_insert(user)
    }

    fn claimed_until(&self) -> Option<Timestamp> {
        *locked(&self.claimed_until)
    }

    /// Returns what is stored of a content.
    fn kept(&self, content: &GrantContent) -> GrantContent {
        let mut content = content.clone();
        if let (Fault::TokensCut, Some(tokens)) = (self.fault, &content.tokens) {
            let bytes = tokens.as_bytes().iter().copied().take(1000).collect();
            content.tokens = Some(companion_domain::port::Sealed::from_bytes(bytes));
        }
        if let Some(list) = &mut content.list {
            let mut listed = HashSet::new();
            let memberships = list.memberships.iter().copied();
            match self.fault {
                Fault::NamesLost => list.without_bot.clear(),
                Fault::ListCut => list.memberships = memberships.take(1000).collect(),
                Fault::ListsEachGuildOnce => {
                    list.memberships = memberships.filter(|one| listed.insert(one.guild)).collect();
                }
                _ => {}
            }
        }
        content
    }

    /// Returns where a page begins.
    async fn begin(&self, after: Option<UserId>) -> Result<Option<UserId>, StoreError> {
        Ok(match (self.fault, after) {
            (Fault::StartsOverAfterTheGone, Some(user)) if self.stores.grants.find(user).await?.is_none() => {
                None
            }
            _ => after,
        })
    }

    async fn current(&self, user: UserId, version: GrantVersion) -> Result<GrantVersion, StoreError> {
        Ok(self.stores.grants.find(user).await?.map_or(version, |grant| grant.version))
    }
}

#[async_trait]
impl GrantStoreOver for Wrong {
    fn grants(&self) -> &dyn GrantStore {
        &*self.stores.grants
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        match self.fault {
            Fault::FindIsAnotherUsers => self.stores.grants.find(self.first_user(user)).await,
            _ => self.stores.grants.find(user).await,
        }
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        let held = self.claimed_until();
        let (version, dead) = match self.fault {
            Fault::ClaimNeverTakenOver => (version, None),
            Fault::ClaimTakenOverByAnyName => (version, dead.and(held)),
            Fault::ClaimRunsOut => (version, held.filter(|held| *held < until).or(dead)),
            Fault::ClaimedTwice => (version, held),
            Fault::ClaimIgnoresVersion => (self.current(user, version).await?, dead),
            _ => (version, dead),
        };
        let claimed = self.stores.grants.claim_refresh(user, version, until, dead).await?;
        if claimed == Claimed::Granted {
            *locked(&self.claimed_until) = Some(until);
        }
        Ok(claimed)
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        match self.fault {
            Fault::UpdateIgnoresVersion => {
                let current = self.current(user, version).await?;
                self.stores.grants.update(user, current, content, claim).await
            }
            Fault::UpdateNotAtomic => {
                let found = self.stores.grants.find(user).await?.map(|grant| grant.version);
                self.readers.wait().await;
                let mut updated = self.stores.grants.update(user, version, content, claim).await;
                while updated.is_err() && found == Some(version) {
                    let current = self.current(user, version).await?;
                    updated = self.stores.grants.update(user, current, content, claim).await;
                }
                updated
            }
            Fault::UpdateKeepsTokens => {
                let earlier = self.stores.grants.find(user).await?.and_then(|grant| grant.content.tokens);
                let sealed = Some(companion_domain::port::Sealed::from_bytes(Vec::new()));
                let tokens = content.tokens.clone().or(earlier).or(sealed);
                let content = GrantContent { tokens, ..content.clone() };
                self.stores.grants.update(user, version, &content, claim).await
            }
            Fault::UpdatesInSteps => {
                let _turn = self.turn.lock().await;
                let first = GrantContent { list: None, ..content.clone() };
                let version = self.stores.grants.update(user, version, &first, ClaimAfter::Kept).await?;
                a_turn().await;
                self.stores.grants.update(user, version, content, claim).await
            }
            Fault::KeptClaimEnds => {
                self.stores.grants.update(user, version, content, ClaimAfter::Released).await
            }
            Fault::ReleasedClaimGoesOn => {
                self.stores.grants.update(user, version, content, ClaimAfter::Kept).await
            }
            _ => self.stores.grants.update(user, version, &self.kept(content), claim).await,
        }
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        match self.fault {
            Fault::RemoveIgnoresVersion => {
                let current = self.current(user, version).await?;
                self.stores.grants.remove_unused(user, current).await
            }
            Fault::RemovesWhileInUse => Ok(self.stores.sign_ins.end(user, version).await?.is_some()),
            Fault::RemovedTwice => {
                let found = self.stores.grants.find(user).await?;
                self.readers.wait().await;
                self.stores.grants.remove_unused(user, version).await?;
                Ok(found.is_some_and(|grant| grant.version == version))
            }
            _ => self.stores.grants.remove_unused(user, version).await,
        }
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let after = self.begin(after).await?;
        let mut users = self.stores.grants.holders(after, limit).await?;
        match (self.fault, after) {
            (Fault::HoldersByTheHundred, _) => users.truncate(100),
            (Fault::PagesOverlap, Some(after)) => {
                users.insert(0, after);
                users.truncate(limit.get() as usize);
            }
            _ => {}
        }
        Ok(users)
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let after = self.begin(after).await?;
        match self.fault {
            Fault::ListsThoseInUse => self.stores.grants.holders(after, limit).await,
            _ => self.stores.grants.unused(after, limit).await,
        }
    }
}
