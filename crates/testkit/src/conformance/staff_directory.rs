//! What a [`StaffDirectory`] promises.

use super::{
    Damage, Fresh,
    concurrency::all_of,
    given_up::GivenUp,
    sample::{BEYOND_SIGNED, LOTS, some_of_lots, staff, user_id},
};
use companion_domain::{change::Tally, model::StaffGrant, port::StaffDirectory};
use std::sync::Arc;

suite! {
    /// Makes one test of each behaviour of a `StaffDirectory`.
    staff_directory_conformance($): staff_directory, dyn StaffDirectory;
    nobody_is_granted_anything_at_first,
    every_grant_is_kept,
    a_user_has_exactly_what_was_put_last,
    a_put_counts_what_it_did,
    removing_can_be_repeated_and_counts_once,
    users_are_kept_apart,
    puts_at_once_are_never_lost,
    nothing_granted_is_not_the_same_as_nobody_there,
    very_many_users_can_be_granted_something,
    a_put_that_is_given_up_is_made_whole_or_not_at_all,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
    what_cannot_be_read_was_not_granted needs Damaging,
}

async fn nobody_is_granted_anything_at_first(fresh: &Fresh<Port>) {
    assert_eq!(fresh.one.grants(user_id(1)).await.unwrap(), None);
}

async fn every_grant_is_kept(fresh: &Fresh<Port>) {
    for (number, grant) in (1..).zip(StaffGrant::ALL) {
        fresh.one.put(user_id(number), staff([*grant])).await.unwrap();
    }
    fresh.one.put(user_id(100), staff(StaffGrant::ALL.iter().copied())).await.unwrap();
    fresh.settle().await;
    for (number, grant) in (1..).zip(StaffGrant::ALL) {
        assert_eq!(fresh.other.grants(user_id(number)).await.unwrap(), Some(staff([*grant])));
    }
    assert_eq!(fresh.one.grants(user_id(100)).await.unwrap(), Some(staff(StaffGrant::ALL.iter().copied())));
}

async fn a_user_has_exactly_what_was_put_last(fresh: &Fresh<Port>) {
    let user = user_id(1);
    for grants in [
        staff([StaffGrant::Support, StaffGrant::Founder]),
        staff([StaffGrant::Docwriter]),
        staff([StaffGrant::Docwriter, StaffGrant::Executive]),
    ] {
        fresh.one.put(user, grants).await.unwrap();
        assert_eq!(fresh.one.grants(user).await.unwrap(), Some(grants));
        fresh.settle().await;
        assert_eq!(fresh.other.grants(user).await.unwrap(), Some(grants));
    }
}

async fn a_put_counts_what_it_did(fresh: &Fresh<Port>) {
    let (user, support, founder) = (user_id(1), staff([StaffGrant::Support]), staff([StaffGrant::Founder]));
    assert_eq!(fresh.one.put(user, support).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.put(user, support).await.unwrap(), Tally::NOTHING);
    assert_eq!(fresh.one.put(user, founder).await.unwrap(), Tally::CHANGED);
    assert_eq!(fresh.one.put(user, founder).await.unwrap(), Tally::NOTHING);
}

async fn removing_can_be_repeated_and_counts_once(fresh: &Fresh<Port>) {
    let user = user_id(1);
    assert_eq!(fresh.one.remove(user).await.unwrap(), Tally::NOTHING);
    fresh.one.put(user, staff([StaffGrant::Support])).await.unwrap();
    assert_eq!(fresh.one.remove(user).await.unwrap(), Tally::REMOVED);
    fresh.settle().await;
    assert_eq!(fresh.other.grants(user).await.unwrap(), None);
    assert_eq!(fresh.one.remove(user).await.unwrap(), Tally::NOTHING);
    assert_eq!(fresh.one.put(user, staff([StaffGrant::Support])).await.unwrap(), Tally::ADDED);
}

async fn users_are_kept_apart(fresh: &Fresh<Port>) {
    let users = [1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    for (user, grant) in users.into_iter().zip(StaffGrant::ALL) {
        assert_eq!(fresh.one.put(user, staff([*grant])).await.unwrap(), Tally::ADDED, "{user}");
    }
    assert_eq!(fresh.one.remove(user_id(1)).await.unwrap(), Tally::REMOVED);
    for (user, grant) in users.into_iter().zip(StaffGrant::ALL).skip(1) {
        assert_eq!(fresh.one.grants(user).await.unwrap(), Some(staff([*grant])), "{user}");
    }
}

async fn puts_at_once_are_never_lost(fresh: &Fresh<Port>) {
    let support = staff([StaffGrant::Support]);
    let put = move |number: u64| user_id(number / 2 + 1);
    let tallies = fresh
        .concurrently(move |number, store| async move { store.put(put(number), support).await.unwrap() })
        .await;
    // Two tasks per user: one of them adds, the other finds it done.
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), tallies.len() / 2);
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::NOTHING).count(), tallies.len() / 2);
    let found = fresh
        .concurrently(move |number, store| async move { store.grants(put(number)).await.unwrap() })
        .await;
    assert!(found.into_iter().all(|grants| grants == Some(support)));
}

async fn nothing_granted_is_not_the_same_as_nobody_there(fresh: &Fresh<Port>) {
    let (user, nothing) = (user_id(1), staff([]));
    assert_eq!(fresh.one.put(user, nothing).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.put(user, nothing).await.unwrap(), Tally::NOTHING);
    fresh.through_both(async |store| assert_eq!(store.grants(user).await.unwrap(), Some(nothing))).await;
    assert_eq!(fresh.one.put(user, staff([StaffGrant::Support])).await.unwrap(), Tally::CHANGED);
    assert_eq!(fresh.one.put(user, nothing).await.unwrap(), Tally::CHANGED);
    assert_eq!(fresh.one.remove(user).await.unwrap(), Tally::REMOVED);
    fresh.through_both(async |store| assert_eq!(store.grants(user).await.unwrap(), None)).await;
}

async fn very_many_users_can_be_granted_something(fresh: &Fresh<Port>) {
    let granted =
        |user: u64| staff([if user.is_multiple_of(2) { StaffGrant::Support } else { StaffGrant::Founder }]);
    let put = all_of((1..=LOTS).map(|user| fresh.one.put(user_id(user), granted(user)))).await;
    assert!(put.into_iter().all(|tally| tally.unwrap() == Tally::ADDED));
    fresh
        .through_both(async |store| {
            let found = all_of(some_of_lots().map(|user| store.grants(user_id(user)))).await;
            assert!(some_of_lots().zip(found).all(|(user, found)| found.unwrap() == Some(granted(user))));
        })
        .await;
}

async fn a_put_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<Port>) {
    let given_up = GivenUp {
        fresh,
        what: "a put",
        ready: async |store: &Arc<Port>, number| {
            store.put(user_id(number + 1), staff([StaffGrant::Support])).await.unwrap();
        },
        write: async |store: &Arc<Port>, number| {
            let other = staff([StaffGrant::Founder, StaffGrant::Docwriter]);
            store.put(user_id(number + 1), other).await.unwrap();
        },
        look: async |store: &Arc<Port>, number| store.grants(user_id(number + 1)).await.unwrap(),
        further: async |store: &Arc<Port>| store.remove(user_id(u64::MAX)).await.unwrap(),
    };
    given_up.leaves_all_or_nothing().await;
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh
        .waits_elsewhere(async |store| store.put(user_id(1), staff([StaffGrant::Support])).await.unwrap())
        .await;
}

async fn what_cannot_be_read_was_not_granted(fresh: &Fresh<Port>) {
    let support = staff([StaffGrant::Support]);
    for user in [1, 2, 3] {
        fresh.one.put(user_id(user), support).await.unwrap();
    }
    for user in [1, 3] {
        if !fresh.damage(Damage::Staff(user_id(user))).await {
            return;
        }
    }
    fresh
        .through_both(async |store| {
            assert_eq!(store.grants(user_id(1)).await.unwrap(), None);
            assert_eq!(store.grants(user_id(2)).await.unwrap(), Some(support));
        })
        .await;
    fresh.one.put(user_id(1), support).await.unwrap();
    assert_eq!(fresh.one.remove(user_id(3)).await.unwrap(), Tally::REMOVED);
    fresh
        .through_both(async |store| assert_eq!(store.grants(user_id(1)).await.unwrap(), Some(support)))
        .await;
}
