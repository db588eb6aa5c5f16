//! Forgets a user.

use super::common::{add, by_key, contents, is_of, two_of_each};
use crate::{
    conformance::{
        Fresh, Stores,
        sample::{LOTS, at, feedback, feedback_id, guild, guild_id, member, session, token_hash, user_id},
    },
    entropy::SeededEntropy,
};
use companion_domain::{
    change::{Key, Tally},
    model::UserId,
    port::{ListingScope, Record},
};

/// Writes the records of [`two_of_each`], with more of user 1.
async fn populate(stores: &Stores) {
    add(stores, two_of_each()).await;
    add(
        stores,
        vec![
            Record::Member(member(guild_id(2), user_id(1), &[5])),
            Record::Session(session(11, user_id(1), at(5))),
            Record::Feedback(feedback("again", 4, user_id(1))),
            Record::Blocked(user_id(1)),
        ],
    )
    .await;
}

pub(super) async fn forget_removes_everything_of_a_user(fresh: &Fresh<Stores>) {
    populate(&fresh.one).await;
    let (user, stores) = (user_id(1), &fresh.other);
    // Two sessions, a grant, two memberships, staff permissions, a subscription and two feedback entries.
    assert_eq!(fresh.one.records.forget(user).await.unwrap().tally, Tally { removed: 9, ..Tally::NOTHING });
    fresh.settle().await;
    assert_eq!(stores.sessions.of_user(user).await.unwrap(), []);
    assert_eq!(stores.sessions.find(&token_hash(1)).await.unwrap(), None);
    assert_eq!(stores.grants.find(user).await.unwrap(), None);
    let seen = stores.guilds.with_roles(user, &[guild_id(1), guild_id(2)]).await.unwrap();
    assert_eq!(seen.iter().filter(|seen| seen.roles.is_empty()).count(), 2);
    assert_eq!(stores.records.find(&Key::Staff(user)).await.unwrap(), None);
    assert_eq!(stores.records.find(&Key::Subscription(user)).await.unwrap(), None);
    let listing = stores.listings().read(user, ListingScope::Guild(guild_id(1))).await.unwrap();
    assert_eq!((&listing.subscription, &*listing.guild_subscriptions), (&None, &[][..]));
    for id in ["one", "again"] {
        assert_eq!(stores.feedback.find(&feedback_id(id)).await.unwrap(), None);
    }
    assert_eq!(stores.feedback.pick_positive(5, SeededEntropy::new(1).seed()).await.unwrap(), []);
}

pub(super) async fn forget_keeps_the_data_of_others(fresh: &Fresh<Stores>) {
    populate(&fresh.one).await;
    fresh.one.records.forget(user_id(1)).await.unwrap();
    let others = two_of_each()
        .into_iter()
        .filter(|record| !is_of(user_id(1), record))
        .chain([Record::Blocked(user_id(1))]);
    assert_eq!(contents(&fresh.one).await, by_key(others.collect()));
}

pub(super) async fn forget_keeps_blocks_and_team_memberships(fresh: &Fresh<Stores>) {
    populate(&fresh.one).await;
    fresh.one.records.forget(user_id(1)).await.unwrap();
    fresh.settle().await;
    assert!(fresh.other.blocked.is_blocked(user_id(1)).await.unwrap());
    assert!(fresh.other.team.all().await.unwrap().iter().any(|member| member.user.id == user_id(1)));
}

pub(super) async fn forget_is_idempotent(fresh: &Fresh<Stores>) {
    assert_eq!(fresh.one.records.forget(user_id(1)).await.unwrap().tally, Tally::NOTHING);
    populate(&fresh.one).await;
    fresh.one.records.forget(user_id(1)).await.unwrap();
    let left = contents(&fresh.one).await;
    assert_eq!(fresh.one.records.forget(user_id(1)).await.unwrap().tally, Tally::NOTHING);
    assert_eq!(contents(&fresh.one).await, left);
}

pub(super) async fn forget_removes_very_many_records(fresh: &Fresh<Stores>) {
    const SAID: u64 = 120;
    let (user, other) = (user_id(1), user_id(2));
    let of = |user: UserId, first: u64| {
        let roles_and_sessions = (first..first + LOTS).flat_map(move |number| {
            [
                Record::Guild(guild(guild_id(number))),
                Record::Member(member(guild_id(number), user, &[1])),
                Record::Session(session(number, user, at(0))),
            ]
        });
        // Fewer entries of feedback, because removing one from the pick is expensive.
        let said = (first..first + SAID)
            .map(move |number| Record::Feedback(feedback(&format!("f-{number}"), 5, user)));
        roles_and_sessions.chain(said)
    };
    add(&fresh.one, of(user, 1).chain(of(other, 10_000)).collect()).await;
    let tally = fresh.one.records.forget(user).await.unwrap().tally;
    assert_eq!(tally, Tally { removed: 2 * LOTS + SAID, ..Tally::NOTHING });
    fresh.settle().await;
    let guilds = of(user, 1).filter(|record| matches!(record, Record::Guild(_)));
    let left = contents(&fresh.other).await;
    assert!(left == by_key(guilds.chain(of(other, 10_000)).collect()), "{} things are left", left.len());
}
