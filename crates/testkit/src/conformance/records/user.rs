//! Everything stored about a user: told, and forgotten.

use super::{
    common::{add, by_key, contents},
    kinds::{is_of, two_of_each},
};
use crate::conformance::{
    Fresh, Stores,
    concurrency::reading_while_writing,
    sample::{LOTS, at, feedback, guild, guild_id, member, session, token_hash, user_id},
};
use companion_domain::{
    change::Tally,
    model::UserId,
    port::{ListingScope, Record},
};
use std::sync::Arc;

/// Asserts that exactly the user's records are told and forgotten, once.
async fn is_told_and_forgotten(fresh: &Fresh<Stores>, user: UserId, world: &[Record]) {
    let (theirs, others): (Vec<_>, Vec<_>) = world.iter().cloned().partition(|record| is_of(user, record));
    fresh.settle().await;
    let told = fresh.other.records.about(user).await.unwrap();
    assert_eq!(told.len(), theirs.len(), "each once");
    assert!(by_key(told) == by_key(theirs.clone()), "all and no other");
    let removed = Tally { removed: theirs.len() as u64, ..Tally::NOTHING };
    for expected in [removed, Tally::NOTHING] {
        assert_eq!(fresh.one.records.forget(user).await.unwrap().tally, expected);
        fresh
            .through_both(async |stores| {
                assert!(contents(stores).await == by_key(others.clone()), "all of the others are left");
                assert_eq!(stores.records.about(user).await.unwrap(), []);
            })
            .await;
    }
}

pub(super) async fn about_returns_what_forget_removes(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    is_told_and_forgotten(fresh, user, &[]).await;
    let mut world = two_of_each();
    world.extend([
        Record::Member(member(guild_id(2), user, &[5])),
        Record::Session(session(11, user, at(5))),
        Record::Feedback(feedback("again", 4, user)),
        Record::Blocked(user),
    ]);
    // More than the values of a statement. Pages are tested where records are exported.
    world.extend((100..100 + LOTS / 2).flat_map(|number| {
        // Fewer entries of feedback, because removing one from the pick is expensive.
        let said = (number < 220).then(|| Record::Feedback(feedback(&format!("f-{number}"), 5, user)));
        let id = guild_id(number);
        let records = [
            Record::Guild(guild(id)),
            Record::Member(member(id, user, &[1])),
            Record::Session(session(number, user, at(0))),
        ];
        records.into_iter().chain(said)
    }));
    add(&fresh.one, world.clone()).await;
    // A block and a place in the team are not part of a user's data.
    is_told_and_forgotten(fresh, user_id(8), &world).await;
    is_told_and_forgotten(fresh, user, &world).await;
    let stores = &fresh.other;
    assert_eq!(stores.sessions.of_user(user).await.unwrap(), []);
    assert_eq!(stores.sessions.find(&token_hash(1)).await.unwrap(), None);
    assert_eq!(stores.grants.find(user).await.unwrap(), None);
    let listing = stores.listings().read(user, ListingScope::Guild(guild_id(1))).await.unwrap();
    assert_eq!((&listing.subscription, &*listing.guild_subscriptions), (&None, &[][..]));
    assert_eq!(listing.staff.iter().count(), 0);
}

pub(super) async fn about_reads_one_snapshot(fresh: &Fresh<Stores>) {
    let user = user_id(1);
    let as_of = |round: u64| {
        let mut said = feedback("said", 1, user);
        said.text = format!("round {round}").parse().unwrap();
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
    let read = move |stores: Arc<Stores>| async move {
        let told = stores.records.about(user).await.unwrap();
        let rounds: Vec<_> = told.iter().map(round_of).collect();
        assert!(matches!(rounds[..], [one, two] if one == two), "both are as one sync left them: {told:?}");
    };
    reading_while_writing(fresh, read, async |round| add(&fresh.one, as_of(round)).await).await;
}
