//! Sessions from before a clock was set back.

use super::common::{MANY, make};
use crate::conformance::{
    Fresh,
    sample::{at, session, user_id},
};
use companion_domain::{port::SessionStore, session::Session};
use std::{collections::BTreeSet, num::NonZeroU32};

/// Five minutes, in microseconds: so much clocks may differ.
const SKEW: i64 = 300_000_000;

pub(super) async fn times_beyond_the_horizon_are_set_to_now_and_no_others(fresh: &Fresh<dyn SessionStore>) {
    let now = 1000;
    let (near, far, year) = (now + SKEW, now + SKEW + 1, now + 31_536_000_000_000);
    let cases = [
        (1, (0, 10), (0, 10)),
        (2, (near, near), (near, near)),
        (3, (far, far), (now, now)),
        (4, (500, year), (500, now)),
        (5, (year, near), (now, near)),
    ];
    let dated = |number, (created, seen)| Session {
        last_seen_at: at(seen),
        ..session(number, user_id(1), at(created))
    };
    make(&*fresh.one, &cases.map(|(number, before, _)| dated(number, before))).await;
    assert_eq!(fresh.one.rewind(at(now), MANY).await.unwrap(), 3);
    assert_eq!(fresh.one.rewind(at(now), MANY).await.unwrap(), 0);
    fresh.settle().await;
    for (number, _, after) in cases {
        let expected = dated(number, after);
        assert_eq!(fresh.other.find(&expected.id).await.unwrap(), Some(expected), "session {number}");
    }
    let order: Vec<_> =
        fresh.one.of_user(user_id(1)).await.unwrap().iter().map(|session| session.created_at).collect();
    assert!(order.is_sorted(), "{order:?}");
}

pub(super) async fn rewind_takes_at_most_the_limit_and_the_rest_later(fresh: &Fresh<dyn SessionStore>) {
    let ahead: Vec<_> = (1..=7).map(|number| session(number, user_id(number), at(2 * SKEW))).collect();
    make(&*fresh.one, &ahead).await;
    for expected in [3, 3, 1, 0] {
        assert_eq!(fresh.one.rewind(at(0), NonZeroU32::new(3).unwrap()).await.unwrap(), expected);
    }
    let mut times = BTreeSet::new();
    for session in ahead {
        times.extend(fresh.one.find(&session.id).await.unwrap().map(|session| session.created_at));
    }
    assert_eq!(times, [at(0)].into());
}
