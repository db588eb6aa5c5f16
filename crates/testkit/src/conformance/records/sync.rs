//! What a sync adds.

use super::common::{add, added, by_key, contents, replacing, try_sync, two_of_each};
use crate::{
    conformance::{
        Fresh, Stores,
        sample::{
            at, feedback, feedback_id, grant, guild, guild_id, member, name, session, staff, subscription,
            team_member, token_hash, user_id,
        },
        stream::Stream,
    },
    entropy::SeededEntropy,
    world::roles,
};
use companion_domain::{
    change::{Kind, Tally},
    model::{Guild, StaffPermission},
    port::{ClaimAfter, Claimed, Grant, GrantVersion, ListingScope, Record, Replace},
    session::Session,
};
use std::sync::Arc;

pub(super) async fn an_empty_sync_changes_nothing(fresh: &Fresh<Stores>) {
    assert_eq!(add(&fresh.one, vec![]).await, Tally::NOTHING);
    assert_eq!(contents(&fresh.one).await, by_key(vec![]));
    add(&fresh.one, two_of_each()).await;
    assert_eq!(add(&fresh.one, vec![]).await, Tally::NOTHING);
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
}

/// Verified through the reading ports.
pub(super) async fn a_sync_adds_every_kind(fresh: &Fresh<Stores>) {
    assert_eq!(add(&fresh.one, two_of_each()).await, added(two_of_each().len() as u64));
    fresh.settle().await;
    let stores = &fresh.other;
    let user = user_id(1);
    for record in two_of_each() {
        assert_eq!(stores.records.find(&record.key()).await.unwrap(), Some(record));
    }
    let seen = stores.guilds.with_roles(user, &[guild_id(1)]).await.unwrap();
    assert_eq!(seen.iter().map(|seen| &*seen.roles).collect::<Vec<_>>(), [&roles(&[1, 2])]);
    let listing = stores.listings().read(user, ListingScope::Guild(guild_id(2))).await.unwrap();
    let subscribed = Arc::new(subscription(user, [1, 2], 3));
    assert_eq!(
        (&listing.subscription, &listing.guild_subscriptions),
        (&Some(subscribed.clone()), &vec![subscribed])
    );
    assert_eq!(listing.staff, staff([StaffPermission::Support]));
    assert!(stores.blocked.is_blocked(user_id(8)).await.unwrap());
    let said = stores.feedback.find(&feedback_id("two")).await.unwrap();
    assert_eq!(said.as_deref(), Some(&feedback("two", 2, user_id(2))));
    let picked = stores.feedback.pick_positive(5, SeededEntropy::new(1).seed()).await.unwrap();
    assert_eq!(picked.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["one"]);
    assert_eq!(stores.team.all().await.unwrap().len(), 2);
    assert_eq!(stores.sessions.find(&token_hash(1)).await.unwrap(), Some(session(1, user, at(1))));
    assert_eq!(stores.sessions.of_user(user).await.unwrap(), [session(1, user, at(1))]);
    let granted = Grant { version: GrantVersion(7), content: grant(1) };
    assert_eq!(stores.grants.find(user).await.unwrap(), Some(granted));
}

/// In reverse, so that every member precedes its guild, in another batch and in the same one.
pub(super) async fn records_may_arrive_in_any_order(fresh: &Fresh<Stores>) {
    let mut records = two_of_each();
    records.reverse();
    assert_eq!(add(&fresh.one, records).await, added(two_of_each().len() as u64));
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
}

pub(super) async fn the_last_record_of_a_key_wins(fresh: &Fresh<Stores>) {
    let other_versions = || {
        vec![
            Record::Guild(Guild { name: name("Old"), ..guild(guild_id(1)) }),
            Record::Member(member(guild_id(1), user_id(1), &[9])),
            Record::Subscription(subscription(user_id(1), [9], 9)),
            Record::Staff(user_id(1), staff([StaffPermission::Executive])),
            Record::Feedback(feedback("one", 1, user_id(3))),
            Record::Team(team_member(user_id(1), "Core", 99)),
            Record::Session(Session { last_seen_at: at(99), ..session(1, user_id(1), at(1)) }),
            Record::Grant(user_id(1), Grant { version: GrantVersion(1), content: grant(9) }),
        ]
    };
    // Duplicates far apart, within one batch, and of stored records.
    let twice = [other_versions(), other_versions(), two_of_each()].concat();
    assert_eq!(
        add(&fresh.one, twice.clone()).await,
        added(two_of_each().len() as u64),
        "a key counts once however often it comes"
    );
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
    let tally = try_sync(&fresh.one, &Replace::default(), Stream::of(twice, 1000)).await.unwrap();
    assert_eq!(tally, Tally::NOTHING, "what is the same in the end has not changed");
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
}

pub(super) async fn the_tally_counts_exactly_the_differences(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    assert_eq!(add(&fresh.one, two_of_each()).await, Tally::NOTHING);
    let everything = replacing(super::common::replaceable());
    let again = try_sync(&fresh.one, &everything, Stream::of(two_of_each(), 5)).await.unwrap();
    assert_eq!(again, Tally::NOTHING, "replacing with the same is no change either");
    let records = vec![
        Record::Guild(guild(guild_id(1))),
        Record::Guild(Guild { name: name("Changed"), ..guild(guild_id(2)) }),
        Record::Guild(guild(guild_id(3))),
        Record::Member(member(guild_id(1), user_id(1), &[2, 1])),
        Record::Member(member(guild_id(1), user_id(2), &[4])),
        Record::Member(member(guild_id(3), user_id(1), &[4])),
        Record::Feedback(feedback("one", 5, user_id(1))),
        Record::Team(team_member(user_id(2), "Core", 3)),
        Record::Team(team_member(user_id(3), "Core", 3)),
        Record::Blocked(user_id(7)),
        Record::Blocked(user_id(8)),
    ];
    let kinds = replacing([Kind::Feedback, Kind::Team, Kind::Blocked]);
    let tally = try_sync(&fresh.one, &kinds, Stream::of(records, 4)).await.unwrap();
    // Added: guild 3 and its member, team member 3, block 7. Changed: guild 2, member 2, team member 2. Removed:
    // feedback two, team member 1, block 9.
    assert_eq!(tally, Tally { added: 4, changed: 3, removed: 3 });
}

pub(super) async fn a_long_stream_is_stored_completely(fresh: &Fresh<Stores>) {
    let records = (1..=400).flat_map(|number| {
        [
            Record::Member(member(guild_id(number), user_id(1), &[number])),
            Record::Member(member(guild_id(number), user_id(number + 1), &[number])),
            Record::Guild(guild(guild_id(number))),
            Record::Feedback(feedback(&format!("f{number}"), 5, user_id(number))),
            Record::Subscription(subscription(user_id(number), [number], 1)),
        ]
    });
    let records: Vec<_> = records.collect();
    let tally = try_sync(&fresh.one, &Replace::default(), Stream::of(records.clone(), 150)).await.unwrap();
    assert_eq!(tally, added(2000));
    assert_eq!(contents(&fresh.one).await, by_key(records));
    let picked = fresh.one.feedback.pick_positive(1000, SeededEntropy::new(1).seed()).await.unwrap();
    assert_eq!(picked.len(), 400);
}

pub(super) async fn an_imported_grant_keeps_its_version(fresh: &Fresh<Stores>) {
    let (grants, user) = (&fresh.one.grants, user_id(1));
    let imported = Grant { version: GrantVersion(41), content: grant(1) };
    add(&fresh.one, vec![Record::Grant(user, imported.clone())]).await;
    let refused = grants.update(user, GrantVersion(40), &grant(2), ClaimAfter::Released).await;
    assert!(refused.is_err());
    let claimed = grants.claim_refresh(user, imported.version, at(10), None).await.unwrap();
    assert_eq!(claimed, Claimed::Granted);
    let updated = grants.update(user, imported.version, &grant(2), ClaimAfter::Released).await.unwrap();
    assert!(updated > imported.version);
    assert!(grants.replace(user, &grant(3)).await.unwrap() > updated);
}
