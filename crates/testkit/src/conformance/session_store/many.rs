//! More sessions than fit any page or batch.

use super::common::{MANY, by_age, make_many};
use crate::conformance::{
    Fresh,
    sample::{NONE_OVER, at, session, user_id},
};
use companion_domain::{
    port::SessionStore,
    session::{Cutoffs, Session, Uses},
};
use std::{collections::HashSet, num::NonZeroU32};

/// More than a page or a batch. Each new one makes a store count those before it, so thousands would take their time.
const MANY_OF_ONE: u64 = 520;

pub(super) async fn a_user_with_very_many_sessions_is_served_in_full(fresh: &Fresh<dyn SessionStore>) {
    let (store, user) = (&fresh.one, user_id(1));
    let all: Vec<_> =
        (1..=MANY_OF_ONE).map(|number| session(number, user, at(i64::try_from(number).unwrap()))).collect();
    make_many(&**store, &all).await;
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), all)).await;
    // The new one has a place as well.
    let (new, room) = (session(MANY_OF_ONE + 1, user, at(i64::MAX >> 16)), 250);
    let cap = NonZeroU32::new(u32::try_from(room).unwrap()).unwrap();
    let mut left = all;
    let gone: Vec<_> = left.drain(..=left.len() - room).collect();
    left.push(new.clone());
    assert_eq!(by_age(store.create(&new, cap, NONE_OVER).await.unwrap()), gone);
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), left)).await;
    assert_eq!(store.revoke_user(user).await.unwrap(), left);
    fresh.through_both(async |store| assert_eq!(store.of_user(user).await.unwrap(), [])).await;
}

pub(super) async fn a_limit_is_reached_while_there_is_enough(fresh: &Fresh<dyn SessionStore>) {
    const HOUR: i64 = 3_600_000_000;
    let (store, limit) = (&fresh.one, NonZeroU32::new(500).unwrap());
    let all: Vec<_> = (1..=700).map(|number| session(number, user_id(number), at(HOUR))).collect();
    make_many(&**store, &all).await;
    for expected in [500, 200, 0] {
        assert_eq!(store.rewind(at(0), limit).await.unwrap(), expected, "those whose time lies ahead");
    }
    let used: Vec<_> = all.iter().map(|session| (session.id, at(5))).collect();
    for batch in Uses::batches(&used) {
        store.touch(batch).await.unwrap();
    }
    let ended = Cutoffs { created: at(0), ..NONE_OVER };
    let mut pruned = Vec::new();
    for expected in [500, 200, 0] {
        let some = store.prune(ended, limit).await.unwrap();
        assert_eq!(some.len(), expected, "those that are over");
        pruned.extend(some);
    }
    let dated = |made: Session| Session { created_at: at(0), last_seen_at: at(5), ..made };
    assert_eq!(by_age(pruned), by_age(all.into_iter().map(dated).collect()), "each as it was in the end");
}

pub(super) async fn one_touch_serves_as_many_as_it_may_name(fresh: &Fresh<dyn SessionStore>) {
    let all: Vec<_> = (1..=Uses::MOST as u64).map(|number| session(number, user_id(1), at(0))).collect();
    make_many(&*fresh.one, &all).await;
    let used: Vec<_> = (1..).zip(&all).map(|(micros, session)| (session.id, at(micros))).collect();
    let [batch] = Uses::batches(&used).collect::<Vec<_>>()[..] else { panic!("one write takes them all") };
    fresh.one.touch(batch).await.unwrap();
    fresh
        .through_both(async |store| {
            let found = store.of_user(user_id(1)).await.unwrap();
            let found: HashSet<_> =
                found.into_iter().map(|session| (session.id, session.last_seen_at)).collect();
            assert_eq!(found, used.iter().copied().collect());
        })
        .await;
    assert_eq!(fresh.one.prune(NONE_OVER, MANY).await.unwrap(), []);
}
