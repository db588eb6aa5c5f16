//! What a [`SubscriptionStore`] promises.

use super::{
    Damage, Fresh,
    concurrency::all_of,
    given_up::GivenUp,
    sample::{BEYOND_SIGNED, LOTS, guild_id, subscription, user_id},
};
use companion_domain::{
    change::Tally,
    model::{GuildId, Slots},
    port::SubscriptionStore,
};
use std::sync::Arc;

/// Nobody's subscription.
const NONE: [u64; 0] = [];

suite! {
    /// Makes one test of each behaviour of a `SubscriptionStore`.
    subscription_store_conformance($): subscription_store, dyn SubscriptionStore;
    nobody_subscribes_at_first,
    a_subscription_is_found_as_it_was_put,
    the_guilds_of_a_subscription_keep_their_order,
    a_put_replaces_everything_and_counts_what_it_did,
    removing_can_be_repeated_and_counts_once,
    all_that_name_a_guild_are_found_each_once,
    a_guild_that_is_no_longer_named_is_no_longer_found,
    many_guilds_can_be_asked_for_at_once,
    ids_beyond_63_bits_are_kept_apart,
    puts_at_once_are_never_lost,
    a_guild_that_very_many_name_is_named_by_all_of_them,
    a_put_that_is_given_up_is_made_whole_or_not_at_all,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
    a_subscription_that_cannot_be_read_costs_no_other needs Damaging,
}

/// The users whose subscriptions name one of these guilds, in order.
async fn naming(store: &dyn SubscriptionStore, guilds: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let guilds: Vec<GuildId> = guilds.into_iter().map(guild_id).collect();
    let found = store.naming(&guilds).await.unwrap();
    let mut users: Vec<_> = found.iter().map(|subscription| subscription.user.get()).collect();
    users.sort_unstable();
    users
}

async fn nobody_subscribes_at_first(fresh: &Fresh<Port>) {
    assert_eq!(fresh.one.of_user(user_id(1)).await.unwrap(), None);
    assert_eq!(naming(&*fresh.one, [1, 2]).await, NONE);
    assert_eq!(naming(&*fresh.one, []).await, NONE);
}

async fn a_subscription_is_found_as_it_was_put(fresh: &Fresh<Port>) {
    let subscriptions = [
        subscription(user_id(1), [5, 6], 3),
        subscription(user_id(2), [], 0),
        subscription(user_id(3), [], Slots::MAX.into()),
        subscription(user_id(4), [7], 0),
    ];
    for subscription in &subscriptions {
        fresh.one.put(subscription).await.unwrap();
    }
    fresh.settle().await;
    for subscription in &subscriptions {
        assert_eq!(fresh.other.of_user(subscription.user).await.unwrap().as_deref(), Some(subscription));
    }
    let named = fresh.one.naming(&[guild_id(6)]).await.unwrap();
    assert_eq!(named, [Arc::new(subscription(user_id(1), [5, 6], 3))]);
}

async fn the_guilds_of_a_subscription_keep_their_order(fresh: &Fresh<Port>) {
    let [forward, backward] = [[3, 1, 2], [2, 1, 3]].map(|guilds| subscription(user_id(1), guilds, 3));
    fresh.one.put(&forward).await.unwrap();
    assert_eq!(fresh.one.of_user(user_id(1)).await.unwrap().as_deref(), Some(&forward));
    assert_eq!(
        fresh.one.put(&backward).await.unwrap(),
        Tally::CHANGED,
        "another order is another subscription"
    );
    assert_eq!(fresh.one.of_user(user_id(1)).await.unwrap().as_deref(), Some(&backward));
    let long = subscription(user_id(2), (1..=1000).map(|number| number * 7_919 % 1009), 1000);
    fresh.one.put(&long).await.unwrap();
    assert_eq!(fresh.one.of_user(user_id(2)).await.unwrap().as_deref(), Some(&long));
}

async fn a_put_replaces_everything_and_counts_what_it_did(fresh: &Fresh<Port>) {
    let mut expected = Tally::ADDED;
    for (guilds, slots) in [(vec![1, 2], 2), (vec![1, 2], 5), (vec![2, 3], 5), (vec![], 5), (vec![1], 0)] {
        let put = subscription(user_id(1), guilds, slots);
        assert_eq!(fresh.one.put(&put).await.unwrap(), expected);
        assert_eq!(fresh.one.put(&put).await.unwrap(), Tally::NOTHING);
        fresh.settle().await;
        assert_eq!(fresh.other.of_user(user_id(1)).await.unwrap().as_deref(), Some(&put));
        expected = Tally::CHANGED;
    }
}

async fn removing_can_be_repeated_and_counts_once(fresh: &Fresh<Port>) {
    let mine = subscription(user_id(1), [1, 2], 2);
    let theirs = subscription(user_id(2), [1], 1);
    assert_eq!(fresh.one.remove(user_id(1)).await.unwrap(), Tally::NOTHING);
    fresh.one.put(&mine).await.unwrap();
    fresh.one.put(&theirs).await.unwrap();
    assert_eq!(fresh.one.remove(user_id(1)).await.unwrap(), Tally::REMOVED);
    assert_eq!(fresh.one.remove(user_id(1)).await.unwrap(), Tally::NOTHING);
    fresh.settle().await;
    assert_eq!(fresh.other.of_user(user_id(1)).await.unwrap(), None);
    assert_eq!(naming(&*fresh.other, [1, 2]).await, [2]);
    assert_eq!(fresh.one.put(&mine).await.unwrap(), Tally::ADDED);
}

async fn all_that_name_a_guild_are_found_each_once(fresh: &Fresh<Port>) {
    for (user, guilds) in [(1, vec![10, 11, 12]), (2, vec![11]), (3, vec![13]), (4, vec![])] {
        fresh.one.put(&subscription(user_id(user), guilds, 9)).await.unwrap();
    }
    for (asked, expected) in [
        (vec![11], vec![1, 2]),
        (vec![10, 11, 12], vec![1, 2]),
        (vec![11, 11, 11], vec![1, 2]),
        (vec![13, 10], vec![1, 3]),
        (vec![99], vec![]),
        (vec![], vec![]),
    ] {
        assert_eq!(naming(&*fresh.one, asked.clone()).await, expected, "naming {asked:?}");
    }
}

async fn a_guild_that_is_no_longer_named_is_no_longer_found(fresh: &Fresh<Port>) {
    fresh.one.put(&subscription(user_id(1), [1, 2], 2)).await.unwrap();
    fresh.settle().await;
    assert_eq!(naming(&*fresh.other, [1]).await, [1]);
    fresh.one.put(&subscription(user_id(1), [2, 3], 2)).await.unwrap();
    fresh
        .through_both(async |store| {
            assert_eq!(naming(&**store, [1]).await, NONE);
            assert_eq!(naming(&**store, [2]).await, [1]);
            assert_eq!(naming(&**store, [3]).await, [1]);
        })
        .await;
}

async fn many_guilds_can_be_asked_for_at_once(fresh: &Fresh<Port>) {
    for user in 1..=20 {
        fresh.one.put(&subscription(user_id(user), [user * 100, user * 100 + 1], 2)).await.unwrap();
    }
    assert_eq!(naming(&*fresh.one, 1..=2100).await, (1..=20).collect::<Vec<_>>());
    assert_eq!(naming(&*fresh.one, 150..=2050).await, (2..=20).collect::<Vec<_>>());
}

async fn ids_beyond_63_bits_are_kept_apart(fresh: &Fresh<Port>) {
    let ids = [1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX];
    for id in ids {
        assert_eq!(fresh.one.put(&subscription(user_id(id), [id], id % 7)).await.unwrap(), Tally::ADDED);
    }
    for id in ids {
        let expected = subscription(user_id(id), [id], id % 7);
        assert_eq!(fresh.one.of_user(user_id(id)).await.unwrap().as_deref(), Some(&expected));
        assert_eq!(naming(&*fresh.one, [id]).await, [id]);
    }
}

async fn puts_at_once_are_never_lost(fresh: &Fresh<Port>) {
    let tallies = fresh
        .concurrently(|number, store| async move {
            store.put(&subscription(user_id(number / 2 + 1), [7], 1)).await.unwrap()
        })
        .await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), tallies.len() / 2);
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::NOTHING).count(), tallies.len() / 2);
    assert_eq!(naming(&*fresh.one, [7]).await, (1..=16).collect::<Vec<_>>());
}

async fn a_guild_that_very_many_name_is_named_by_all_of_them(fresh: &Fresh<Port>) {
    let all: Vec<_> = (1..=LOTS).map(|user| subscription(user_id(user), [7, 1000 + user], user)).collect();
    let put = all_of(all.iter().map(|one| fresh.one.put(one))).await;
    assert!(put.into_iter().all(|tally| tally.unwrap() == Tally::ADDED));
    fresh
        .through_both(async |store| {
            let mut found = store.naming(&[guild_id(7), guild_id(1001)]).await.unwrap();
            found.sort_by_key(|subscription| subscription.user);
            assert!(found.iter().map(|one| &**one).eq(&all), "{} of {LOTS}", found.len());
        })
        .await;
}

async fn a_put_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<Port>) {
    let given_up = GivenUp {
        fresh,
        what: "a put",
        ready: async |store: &Arc<Port>, number| {
            store.put(&subscription(user_id(number + 1), [1, 2, 10 + number], 2)).await.unwrap();
        },
        write: async |store: &Arc<Port>, number| {
            store.put(&subscription(user_id(number + 1), [3, 4], 3)).await.unwrap();
        },
        look: async |store: &Arc<Port>, number| {
            let found = store.of_user(user_id(number + 1)).await.unwrap();
            let named = naming(&**store, [10 + number]).await.len();
            (found.map(|found| (found.slots, found.guilds.as_slice().len())), named)
        },
        further: async |store: &Arc<Port>| store.remove(user_id(u64::MAX)).await.unwrap(),
    };
    given_up.leaves_all_or_nothing().await;
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.put(&subscription(user_id(1), [1], 1)).await.unwrap()).await;
}

async fn a_subscription_that_cannot_be_read_costs_no_other(fresh: &Fresh<Port>) {
    for user in [1, 2, 3] {
        fresh.one.put(&subscription(user_id(user), [7], 1)).await.unwrap();
    }
    for user in [1, 3] {
        if !fresh.damage(Damage::Subscription(user_id(user))).await {
            return;
        }
    }
    fresh
        .through_both(async |store| {
            assert_eq!(store.of_user(user_id(1)).await.unwrap(), None);
            assert_eq!(naming(&**store, [7]).await, [2]);
        })
        .await;
    fresh.one.put(&subscription(user_id(1), [7], 1)).await.unwrap();
    assert_eq!(fresh.one.remove(user_id(3)).await.unwrap(), Tally::REMOVED);
    fresh.through_both(async |store| assert_eq!(naming(&**store, [7]).await, [1, 2])).await;
}
