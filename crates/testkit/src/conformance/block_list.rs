//! What a [`BlockList`] promises.

use super::{
    Fresh,
    concurrency::all_of,
    sample::{BEYOND_SIGNED, LOTS, some_of_lots, user_id},
};
use companion_domain::{change::Tally, port::BlockList};

suite! {
    /// Makes one test of each behaviour of a `BlockList`.
    block_list_conformance($): block_list, dyn BlockList;
    nobody_is_blocked_at_first,
    a_blocked_user_is_blocked_for_every_reader,
    a_user_who_is_let_in_again_is_not_blocked,
    blocking_and_unblocking_can_be_repeated_and_count_once,
    users_are_kept_apart,
    of_callers_at_once_exactly_one_blocks,
    blocks_at_once_are_never_lost,
    very_many_users_can_be_blocked,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
}

async fn nobody_is_blocked_at_first(fresh: &Fresh<Port>) {
    assert!(!fresh.one.is_blocked(user_id(1)).await.unwrap());
}

async fn a_blocked_user_is_blocked_for_every_reader(fresh: &Fresh<Port>) {
    // Asked before, so that whoever remembers an answer is found out.
    assert!(!fresh.one.is_blocked(user_id(1)).await.unwrap());
    assert!(!fresh.other.is_blocked(user_id(1)).await.unwrap());
    fresh.one.block(user_id(1)).await.unwrap();
    assert!(fresh.one.is_blocked(user_id(1)).await.unwrap());
    fresh.settle().await;
    assert!(fresh.other.is_blocked(user_id(1)).await.unwrap());
}

async fn a_user_who_is_let_in_again_is_not_blocked(fresh: &Fresh<Port>) {
    fresh.one.block(user_id(1)).await.unwrap();
    fresh.settle().await;
    assert!(fresh.other.is_blocked(user_id(1)).await.unwrap());
    fresh.one.unblock(user_id(1)).await.unwrap();
    assert!(!fresh.one.is_blocked(user_id(1)).await.unwrap());
    fresh.settle().await;
    assert!(!fresh.other.is_blocked(user_id(1)).await.unwrap());
}

async fn blocking_and_unblocking_can_be_repeated_and_count_once(fresh: &Fresh<Port>) {
    let user = user_id(1);
    assert_eq!(fresh.one.unblock(user).await.unwrap(), Tally::NOTHING);
    assert_eq!(fresh.one.block(user).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.block(user).await.unwrap(), Tally::NOTHING);
    assert!(fresh.one.is_blocked(user).await.unwrap());
    assert_eq!(fresh.one.unblock(user).await.unwrap(), Tally::REMOVED);
    assert_eq!(fresh.one.unblock(user).await.unwrap(), Tally::NOTHING);
}

async fn users_are_kept_apart(fresh: &Fresh<Port>) {
    let users = [1, 2, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX].map(user_id);
    for blocked in users {
        assert_eq!(fresh.one.block(blocked).await.unwrap(), Tally::ADDED);
        for user in users {
            assert_eq!(
                fresh.one.is_blocked(user).await.unwrap(),
                user == blocked,
                "{user} while {blocked} is blocked"
            );
        }
        assert_eq!(fresh.one.unblock(blocked).await.unwrap(), Tally::REMOVED);
    }
}

async fn of_callers_at_once_exactly_one_blocks(fresh: &Fresh<Port>) {
    let tallies = fresh.concurrently(|_, list| async move { list.block(user_id(1)).await.unwrap() }).await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), 1);
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::NOTHING).count(), tallies.len() - 1);
}

async fn blocks_at_once_are_never_lost(fresh: &Fresh<Port>) {
    fresh.concurrently(|number, list| async move { list.block(user_id(number + 1)).await.unwrap() }).await;
    let blocked = fresh
        .concurrently(|number, list| async move { list.is_blocked(user_id(number + 1)).await.unwrap() })
        .await;
    assert!(blocked.into_iter().all(|blocked| blocked));
}

async fn very_many_users_can_be_blocked(fresh: &Fresh<Port>) {
    let users: Vec<_> = (1..=LOTS).map(user_id).collect();
    let tallies = all_of(users.iter().map(|user| fresh.one.block(*user))).await;
    assert!(tallies.into_iter().all(|tally| tally.unwrap() == Tally::ADDED));
    fresh
        .through_both(async |list| {
            let blocked = all_of(some_of_lots().map(|user| list.is_blocked(user_id(user)))).await;
            assert!(blocked.into_iter().all(|blocked| blocked.unwrap()));
            assert!(!list.is_blocked(user_id(LOTS + 1)).await.unwrap());
        })
        .await;
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.block(user_id(1)).await.unwrap()).await;
}
