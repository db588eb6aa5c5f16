//! Reads everything stored about a user.

use super::common::{add, by_key, is_of, two_of_each};
use crate::conformance::{
    Fresh, Stores,
    sample::{LOTS, at, feedback, guild, guild_id, member, session, user_id},
};
use companion_domain::port::Record;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

pub(super) async fn about_returns_what_forget_removes(fresh: &Fresh<Stores>) {
    let world = || {
        let more = [
            Record::Member(member(guild_id(2), user_id(1), &[])),
            Record::Session(session(11, user_id(1), at(5))),
            Record::Feedback(feedback("again", 1, user_id(1))),
            Record::Blocked(user_id(1)),
        ];
        two_of_each().into_iter().chain(more)
    };
    add(&fresh.one, world().collect()).await;
    fresh.settle().await;
    for user in [user_id(1), user_id(2)] {
        let told = fresh.other.records.about(user).await.unwrap();
        let expected: Vec<_> = world().filter(|record| is_of(user, record)).collect();
        assert_eq!(told.len(), expected.len(), "{told:?}");
        assert_eq!(by_key(told), by_key(expected));
    }
    let tally = fresh.one.records.forget(user_id(1)).await.unwrap().tally;
    assert_eq!(tally.removed, world().filter(|record| is_of(user_id(1), record)).count() as u64);
    fresh.settle().await;
    assert_eq!(fresh.other.records.about(user_id(1)).await.unwrap(), []);
}

pub(super) async fn about_an_unknown_user_is_empty(fresh: &Fresh<Stores>) {
    assert_eq!(fresh.one.records.about(user_id(1)).await.unwrap(), []);
    add(&fresh.one, two_of_each()).await;
    // Blocks and team memberships are not part of a user's data.
    assert_eq!(fresh.one.records.about(user_id(8)).await.unwrap(), []);
}

pub(super) async fn about_returns_very_many_records(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let theirs = || {
        (1..=LOTS).flat_map(|number| {
            [
                Record::Guild(guild(guild_id(number))),
                Record::Member(member(guild_id(number), user, &[1])),
                Record::Session(session(number, user, at(0))),
                Record::Feedback(feedback(&format!("f-{number}"), 1, user)),
            ]
        })
    };
    add(&fresh.one, theirs().collect()).await;
    fresh.settle().await;
    let told = by_key(fresh.other.records.about(user).await.unwrap());
    let expected = by_key(theirs().filter(|record| is_of(user, record)).collect());
    assert!(told == expected, "{} of {} things were told", told.len(), expected.len());
}

pub(super) async fn about_reads_one_snapshot(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let as_of = |round: u64| {
        let text = format!("round {round}");
        let mut said = feedback("said", 1, user);
        said.text = text.parse().unwrap();
        vec![
            Record::Guild(guild(guild_id(1))),
            Record::Member(member(guild_id(1), user, &[round + 1])),
            Record::Feedback(said),
        ]
    };
    let round_of = |record: &Record| match record {
        Record::Member(member) => member.roles.as_slice().first().map(|role| role.get() - 1),
        Record::Feedback(said) => {
            said.text.as_str().strip_prefix("round ").and_then(|text| text.parse().ok())
        }
        _ => None,
    };
    add(&fresh.one, as_of(0)).await;
    fresh.settle().await;
    let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (stores, stop, read) = (Arc::clone(&fresh.other), Arc::clone(&done), Arc::clone(&reads));
    let reader = tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            let told = stores.records.about(user).await.unwrap();
            let mut rounds: Vec<_> = told.iter().map(round_of).collect();
            assert_eq!(rounds.len(), 2, "{told:?}");
            rounds.dedup();
            assert_eq!(rounds.len(), 1, "both are as one sync left them: {told:?}");
            read.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
        }
    });
    // Until both reader and writer have run often enough.
    for round in 1.. {
        add(&fresh.one, as_of(round)).await;
        if (round > 20 && reads.load(Ordering::SeqCst) > 20) || reader.is_finished() {
            break;
        }
        tokio::task::yield_now().await;
    }
    done.store(true, Ordering::Relaxed);
    reader.await.unwrap();
}
