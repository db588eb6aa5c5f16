//! Wrong stores of what is known about single users: blocks, grants by name and subscriptions.

use crate::conformance::proof::{Proof, Workshop, a_turn, memory};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{GuildId, StaffGrants, SubscribedGuilds, Subscription, UserId},
    port::{BlockList, StaffDirectory, StoreError, SubscriptionStore},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, block_list, staff_directory, subscription_store};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    BlockIsRemembered,
    BlockCountsTwice,
    UnblockOnAbsentFails,
    StaffIsAddedTo,
    StaffStays,
    GuildsAreSorted,
    NamedOnceForEachGuild,
    NamesWhatItUsedTo,
    BlocksThousand,
    StaffOfHundred,
    StaffInSteps,
    NoStaffGrantIsNone,
    NamingHundred,
    SubscribesInSteps,
}

struct Wrong {
    inner: Arc<MemoryStorage>,
    fault: Fault,
    answers: Mutex<HashMap<UserId, bool>>,
    put: Mutex<Vec<Subscription>>,
    users: Mutex<Vec<UserId>>,
}

fn wrong(fault: Fault) -> Arc<Wrong> {
    Arc::new(Wrong {
        inner: memory(),
        fault,
        answers: Mutex::default(),
        put: Mutex::default(),
        users: Mutex::default(),
    })
}

impl Wrong {
    /// Whether the user is among the first that were written.
    fn among_the_first(&self, user: UserId, count: usize) -> bool {
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.iter().take(count).any(|one| *one == user)
    }

    fn note(&self, user: UserId) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).push(user);
    }
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let blocked = Workshop {
        suite: "block_list",
        behaviours: block_list::SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let staff = Workshop {
        suite: "staff_directory",
        behaviours: staff_directory::SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let subscriptions = Workshop {
        suite: "subscription_store",
        behaviours: subscription_store::SUITE,
        sound: || Fresh::new(memory()),
        wrong: |fault| Fresh::new(wrong(fault)),
    };
    let repeated = "blocking_and_unblocking_can_be_repeated_and_count_once";
    let mut proofs = blocked.proofs(&[
        (
            F::BlockIsRemembered,
            "an answer is remembered (a stale read)",
            "a_blocked_user_is_blocked_for_every_reader",
        ),
        (F::BlockCountsTwice, "blocking the blocked counts", repeated),
        (F::UnblockOnAbsentFails, "unblocking whoever is not blocked is an error", repeated),
        (F::BlocksThousand, "the first thousand blocks are looked at", "very_many_users_can_be_blocked"),
    ]);
    proofs.extend(staff.proofs(&[
        (F::StaffIsAddedTo, "grants are added to the earlier ones", "a_user_has_exactly_what_was_put_last"),
        (F::StaffStays, "grants cannot be taken back", "removing_can_be_repeated_and_counts_once"),
        (
            F::StaffOfHundred,
            "the first hundred users are looked at",
            "very_many_users_can_be_granted_something",
        ),
        (
            F::StaffInSteps,
            "a put that is given up has taken everything back",
            "a_put_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::NoStaffGrantIsNone,
            "whoever is granted nothing is not there",
            "nothing_granted_is_not_the_same_as_nobody_there",
        ),
    ]));
    proofs.extend(subscriptions.proofs(&[
        (F::GuildsAreSorted, "guilds lose their order", "the_guilds_of_a_subscription_keep_their_order"),
        (
            F::NamedOnceForEachGuild,
            "a subscription is found once for each of its guilds",
            "all_that_name_a_guild_are_found_each_once",
        ),
        (
            F::NamesWhatItUsedTo,
            "a guild that is no longer named is still found",
            "a_guild_that_is_no_longer_named_is_no_longer_found",
        ),
        (
            F::NamingHundred,
            "a guild is named by a hundred at most",
            "a_guild_that_very_many_name_is_named_by_all_of_them",
        ),
        (
            F::SubscribesInSteps,
            "a put that is given up has taken the old one away",
            "a_put_that_is_given_up_is_made_whole_or_not_at_all",
        ),
    ]));
    proofs
}

#[async_trait]
impl BlockList for Wrong {
    async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError> {
        let blocked = self.inner.is_blocked(user).await?;
        if self.fault == Fault::BlocksThousand {
            return Ok(blocked && self.among_the_first(user, 1000));
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let remembered = *answers.entry(user).or_insert(blocked);
        Ok(if self.fault == Fault::BlockIsRemembered { remembered } else { blocked })
    }

    async fn block(&self, user: UserId) -> Result<Tally, StoreError> {
        self.note(user);
        let tally = self.inner.block(user).await?;
        Ok(if self.fault == Fault::BlockCountsTwice { Tally::ADDED } else { tally })
    }

    async fn unblock(&self, user: UserId) -> Result<Tally, StoreError> {
        match self.inner.unblock(user).await? {
            Tally::NOTHING if self.fault == Fault::UnblockOnAbsentFails => {
                Err(StoreError::conflict("not blocked"))
            }
            tally => Ok(tally),
        }
    }
}

#[async_trait]
impl StaffDirectory for Wrong {
    async fn grants(&self, user: UserId) -> Result<Option<StaffGrants>, StoreError> {
        let grants = self.inner.grants(user).await?;
        Ok(match self.fault {
            Fault::StaffOfHundred => grants.filter(|_| self.among_the_first(user, 100)),
            Fault::NoStaffGrantIsNone => grants.filter(|grants| grants.iter().next().is_some()),
            _ => grants,
        })
    }

    async fn put(&self, user: UserId, grants: StaffGrants) -> Result<Tally, StoreError> {
        self.note(user);
        let earlier = self.inner.grants(user).await?;
        if self.fault == Fault::StaffInSteps && earlier.is_some_and(|earlier| earlier != grants) {
            StaffDirectory::remove(&*self.inner, user).await?;
            a_turn().await;
            StaffDirectory::put(&*self.inner, user, grants).await?;
            return Ok(Tally::CHANGED);
        }
        let earlier = earlier.unwrap_or_default();
        let both = earlier.iter().chain(grants.iter()).collect();
        let put = if self.fault == Fault::StaffIsAddedTo { both } else { grants };
        StaffDirectory::put(&*self.inner, user, put).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        let earlier = self.inner.grants(user).await?;
        let tally = StaffDirectory::remove(&*self.inner, user).await?;
        if let (Fault::StaffStays, Some(grants)) = (self.fault, earlier) {
            StaffDirectory::put(&*self.inner, user, grants).await?;
        }
        Ok(tally)
    }
}

#[async_trait]
impl SubscriptionStore for Wrong {
    async fn of_user(&self, user: UserId) -> Result<Option<Arc<Subscription>>, StoreError> {
        SubscriptionStore::of_user(&*self.inner, user).await
    }

    async fn naming(&self, guilds: &[GuildId]) -> Result<Vec<Arc<Subscription>>, StoreError> {
        match self.fault {
            Fault::NamedOnceForEachGuild => {
                let mut found = Vec::new();
                for guild in guilds {
                    found.extend(self.inner.naming(&[*guild]).await?);
                }
                Ok(found)
            }
            Fault::NamesWhatItUsedTo => {
                let ever = self.put.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let names =
                    |one: &&Subscription| one.guilds.as_slice().iter().any(|guild| guilds.contains(guild));
                Ok(ever.iter().find(names).cloned().map(Arc::new).into_iter().collect())
            }
            Fault::NamingHundred => {
                let mut found = self.inner.naming(guilds).await?;
                found.truncate(100);
                Ok(found)
            }
            _ => self.inner.naming(guilds).await,
        }
    }

    async fn put(&self, subscription: &Subscription) -> Result<Tally, StoreError> {
        self.put.lock().unwrap_or_else(PoisonError::into_inner).push(subscription.clone());
        if self.fault == Fault::SubscribesInSteps {
            let user = subscription.user;
            let earlier = SubscriptionStore::of_user(&*self.inner, user).await?;
            if earlier.is_some_and(|earlier| *earlier != *subscription) {
                SubscriptionStore::remove(&*self.inner, user).await?;
                a_turn().await;
                SubscriptionStore::put(&*self.inner, subscription).await?;
                return Ok(Tally::CHANGED);
            }
        }
        let mut guilds = subscription.guilds.as_slice().to_vec();
        if self.fault == Fault::GuildsAreSorted {
            guilds.sort_unstable();
        }
        let guilds = SubscribedGuilds::new(guilds).map_err(StoreError::corrupt)?;
        SubscriptionStore::put(&*self.inner, &Subscription { guilds, ..subscription.clone() }).await
    }

    async fn remove(&self, user: UserId) -> Result<Tally, StoreError> {
        SubscriptionStore::remove(&*self.inner, user).await
    }
}
