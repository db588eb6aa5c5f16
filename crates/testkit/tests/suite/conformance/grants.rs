//! Wrong grant stores.

use crate::conformance::proof::{Proof, Workshop, a_turn, memory, stores, with};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, StoreError},
};
use companion_testkit::conformance::{Fresh, grant_store, sessions_and_grants};
use std::{
    collections::HashSet,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

#[derive(Clone, Copy)]
enum Fault {
    UpdateIgnoresVersion,
    UpdateNotAtomic,
    UpdateKeepsTokens,
    RemoveIgnoresVersion,
    ClaimNeverTakenOver,
    ClaimRunsOut,
    ClaimTakenOverByAnyone,
    ClaimedTwice,
    ClaimIgnoresVersion,
    ClaimOutlastsReplacement,
    KeptClaimEnds,
    ReleasedClaimGoesOn,
    FindIsAnotherUsers,
    PagesOverlap,
    RemovesWhileInUse,
    RemovesAnyVersion,
    RemovedTwice,
    ListsThoseInUse,
    PagesEndEarly,
    TokensCut,
    ListCut,
    ListsEachGuildOnce,
    HoldersByTheHundred,
    UnusedByTheHundred,
    StartsOverAfterTheGone,
    ReplacesInSteps,
    UpdatesInSteps,
    KeptClaimIsNobodys,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let alone = Workshop {
        suite: "grant_store",
        behaviours: grant_store::SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(Arc::new(Wrong::new(memory(), fault))),
    };
    let with_sessions = Workshop {
        suite: "sessions_and_grants",
        behaviours: sessions_and_grants::SUITE,
        sound: || Fresh::new(Arc::new(stores())),
        wrong: |fault| with(|stores| stores.grants = Arc::new(Wrong::new(stores.grants.clone(), fault))),
    };
    let taken_over = "a_claim_of_the_dead_is_taken_over_by_who_names_it";
    let goes_on_or_ends = "a_claim_goes_on_or_ends_with_an_update_as_told";
    let mut proofs = alone.proofs(&[
        (
            F::UpdateIgnoresVersion,
            "an update of a stale version is written (a lost update)",
            "an_update_of_a_stale_version_is_a_conflict_and_changes_nothing",
        ),
        (
            F::UpdateNotAtomic,
            "comparing the version and writing are two steps",
            "of_updates_at_once_exactly_one_wins",
        ),
        (F::UpdateKeepsTokens, "an update cannot take tokens away", "nothing_and_empty_are_not_the_same"),
        (
            F::RemoveIgnoresVersion,
            "a stale version can be removed",
            "only_the_current_version_can_be_removed",
        ),
        (F::ClaimNeverTakenOver, "a claim of the dead stays for ever", taken_over),
        (F::ClaimTakenOverByAnyone, "a claim is taken over by who names another", taken_over),
        (F::ClaimRunsOut, "a store ends claims by their date", "a_claim_stands_whatever_its_date"),
        (F::ClaimedTwice, "a claim is granted twice", "only_one_holds_the_claim"),
        (
            F::ClaimIgnoresVersion,
            "a claim on any version is granted",
            "a_claim_is_for_one_version_of_one_grant",
        ),
        (F::ClaimOutlastsReplacement, "a claim outlasts a new sign-in", "a_new_grant_has_no_claim"),
        (F::KeptClaimEnds, "a claim that should go on ends", goes_on_or_ends),
        (F::ReleasedClaimGoesOn, "a claim that should end goes on", goes_on_or_ends),
        (F::FindIsAnotherUsers, "a user is given another's grant", "users_are_kept_apart"),
        (F::PagesOverlap, "a page begins with the last of the one before", "holders_come_in_pages_each_once"),
        (F::TokensCut, "sealed tokens are cut at a thousand bytes", "a_large_grant_is_kept_whole"),
        (F::ListCut, "a list has a thousand guilds at most", "a_large_grant_is_kept_whole"),
        (F::ListsEachGuildOnce, "a guild that is listed twice is kept once", "a_large_grant_is_kept_whole"),
        (
            F::HoldersByTheHundred,
            "a page of holders has a hundred at most, whatever its limit",
            "a_page_of_holders_is_full_while_there_are_more",
        ),
        (
            F::StartsOverAfterTheGone,
            "who pages on from a user who is gone starts over",
            "who_pages_on_from_a_holder_who_is_gone_goes_on",
        ),
        (
            F::ReplacesInSteps,
            "a replacement that is given up has tokens and no list",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::UpdatesInSteps,
            "an update that is given up has tokens and no list",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::KeptClaimIsNobodys,
            "a claim that went on with an update cannot be taken over",
            "a_claim_goes_on_or_ends_with_an_update_as_told",
        ),
    ]);
    proofs.extend(with_sessions.proofs(&[
        (
            F::RemovesWhileInUse,
            "a grant is removed from a user with a session",
            "a_grant_stays_while_there_is_a_session",
        ),
        (
            F::RemovesAnyVersion,
            "an unused grant is removed whatever its version",
            "only_the_current_version_is_removed_as_unused",
        ),
        (
            F::RemovedTwice,
            "two callers remove the same grant",
            "of_callers_at_once_exactly_one_removes_the_unused_grant",
        ),
        (
            F::ListsThoseInUse,
            "a grant that is in use is listed as unused",
            "a_grant_stays_while_there_is_a_session",
        ),
        (F::PagesEndEarly, "the last unused grant is never listed", "unused_grants_come_in_pages_each_once"),
        (
            F::UnusedByTheHundred,
            "a page of unused grants has a hundred at most, whatever its limit",
            "a_page_of_unused_grants_is_full_while_there_are_more",
        ),
        (
            F::StartsOverAfterTheGone,
            "who pages on from a user who is gone starts over",
            "who_pages_on_from_a_grant_that_is_gone_goes_on",
        ),
    ]));
    proofs
}

struct Wrong {
    inner: Arc<dyn GrantStore>,
    fault: Fault,
    first_user: Mutex<Option<UserId>>,
    claimed_until: Mutex<Option<Timestamp>>,
    carried_over: AtomicBool,
    turn: tokio::sync::Mutex<()>,
}

impl Wrong {
    fn new(inner: Arc<dyn GrantStore>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            first_user: Mutex::default(),
            claimed_until: Mutex::default(),
            carried_over: AtomicBool::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    fn first_user(&self, user: UserId) -> UserId {
        *self.first_user.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(user)
    }

    fn claimed_until(&self) -> Option<Timestamp> {
        *self.claimed_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept of a content.
    fn kept(&self, content: &GrantContent) -> GrantContent {
        let mut content = content.clone();
        if let (Fault::TokensCut, Some(tokens)) = (self.fault, &content.tokens) {
            let bytes = tokens.as_bytes().iter().copied().take(1000).collect();
            content.tokens = Some(companion_domain::port::Sealed::from_bytes(bytes));
        }
        if let Some(list) = &mut content.list {
            let mut listed = HashSet::new();
            list.memberships = match self.fault {
                Fault::ListCut => list.memberships.iter().copied().take(1000).collect(),
                Fault::ListsEachGuildOnce => {
                    list.memberships.iter().copied().filter(|one| listed.insert(one.guild)).collect()
                }
                _ => list.memberships.clone(),
            };
        }
        content
    }

    /// Where a page begins.
    async fn begin(&self, after: Option<UserId>) -> Result<Option<UserId>, StoreError> {
        Ok(match (self.fault, after) {
            (Fault::StartsOverAfterTheGone, Some(user)) if self.inner.find(user).await?.is_none() => None,
            _ => after,
        })
    }

    async fn current(&self, user: UserId, version: GrantVersion) -> Result<GrantVersion, StoreError> {
        Ok(self.inner.find(user).await?.map_or(version, |grant| grant.version))
    }
}

#[async_trait]
impl GrantStore for Wrong {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        self.first_user(user);
        if let Fault::ReplacesInSteps = self.fault {
            self.inner.replace(user, &GrantContent { list: None, ..content.clone() }).await?;
            a_turn().await;
        }
        let version = self.inner.replace(user, &self.kept(content)).await?;
        if let (Fault::ClaimOutlastsReplacement, Some(until)) = (self.fault, self.claimed_until()) {
            self.inner.claim_refresh(user, version, until, None).await?;
        }
        Ok(version)
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        match self.fault {
            Fault::FindIsAnotherUsers => self.inner.find(self.first_user(user)).await,
            _ => self.inner.find(user).await,
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
            Fault::ClaimTakenOverByAnyone => (version, dead.and(held)),
            Fault::ClaimRunsOut => (version, held.filter(|held| *held < until).or(dead)),
            Fault::ClaimedTwice => (version, held),
            Fault::KeptClaimIsNobodys => {
                (version, dead.filter(|_| !self.carried_over.load(Ordering::SeqCst)))
            }
            Fault::ClaimIgnoresVersion => (self.current(user, version).await?, dead),
            _ => (version, dead),
        };
        let claimed = self.inner.claim_refresh(user, version, until, dead).await?;
        if claimed == Claimed::Granted {
            *self.claimed_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
        Ok(claimed)
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.inner.release_claim(user, version).await
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
                self.inner.update(user, current, content, claim).await
            }
            Fault::UpdateNotAtomic => {
                let found = self.inner.find(user).await?.map(|grant| grant.version);
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                if found == Some(version) {
                    return self.inner.replace(user, content).await;
                }
                self.inner.update(user, version, content, claim).await
            }
            Fault::UpdateKeepsTokens => {
                let earlier = self.inner.find(user).await?.and_then(|grant| grant.content.tokens);
                let sealed = Some(companion_domain::port::Sealed::from_bytes(Vec::new()));
                let tokens = content.tokens.clone().or(earlier).or(sealed);
                let content = GrantContent { tokens, ..content.clone() };
                self.inner.update(user, version, &content, claim).await
            }
            Fault::UpdatesInSteps => {
                let _turn = self.turn.lock().await;
                let first = GrantContent { list: None, ..content.clone() };
                let version = self.inner.update(user, version, &first, ClaimAfter::Kept).await?;
                a_turn().await;
                self.inner.update(user, version, content, claim).await
            }
            Fault::KeptClaimIsNobodys => {
                self.carried_over.store(claim == ClaimAfter::Kept, Ordering::SeqCst);
                self.inner.update(user, version, content, claim).await
            }
            Fault::KeptClaimEnds => self.inner.update(user, version, content, ClaimAfter::Released).await,
            Fault::ReleasedClaimGoesOn => self.inner.update(user, version, content, ClaimAfter::Kept).await,
            _ => self.inner.update(user, version, content, claim).await,
        }
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        match self.fault {
            Fault::RemoveIgnoresVersion => {
                let current = self.current(user, version).await?;
                self.inner.remove(user, current).await
            }
            _ => self.inner.remove(user, version).await,
        }
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        match self.fault {
            Fault::RemovesWhileInUse => self.inner.remove(user, version).await,
            Fault::RemovesAnyVersion => {
                let current = self.current(user, version).await?;
                self.inner.remove_unused(user, current).await
            }
            Fault::RemovedTwice => {
                let found = self.inner.find(user).await?;
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                self.inner.remove_unused(user, version).await?;
                Ok(found.is_some_and(|grant| grant.version == version))
            }
            _ => self.inner.remove_unused(user, version).await,
        }
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let after = self.begin(after).await?;
        let mut users = self.inner.holders(after, limit).await?;
        if let Fault::HoldersByTheHundred = self.fault {
            users.truncate(100);
        }
        if matches!(self.fault, Fault::PagesOverlap)
            && let Some(after) = after
        {
            users.insert(0, after);
            users.truncate(limit.get() as usize);
        }
        Ok(users)
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        let after = self.begin(after).await?;
        match self.fault {
            Fault::UnusedByTheHundred => {
                let mut users = self.inner.unused(after, limit).await?;
                users.truncate(100);
                Ok(users)
            }
            Fault::ListsThoseInUse => self.inner.holders(after, limit).await,
            Fault::PagesEndEarly => {
                let mut all = self.inner.unused(None, NonZeroU32::MAX).await?;
                let last = all.pop();
                let mut users = self.inner.unused(after, limit).await?;
                users.retain(|user| all.is_empty() || Some(*user) != last);
                Ok(users)
            }
            _ => self.inner.unused(after, limit).await,
        }
    }
}
