//! What a sync adds.

use super::common::{add, added, by_key, contents, replacing, try_sync, two_of_each};
use crate::conformance::{
    Fresh, Stores,
    sample::{
        at, feedback, grant, guild, guild_id, member, name, session, staff, subscription, team_member,
        user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::{Kind, Tally},
    model::{Guild, StaffPermission},
    port::{ClaimAfter, Claimed, Grant, GrantVersion, ListingScope, Record, Replace},
    session::Session,
};
use std::sync::Arc;

/// In reverse, so that every member precedes its guild, in another batch and in the same one.
pub(super) async fn a_sync_adds_every_kind_in_any_order(fresh: &Fresh<Stores>) {
    let (records, user) = (two_of_each(), user_id(1));
    assert_eq!(add(&fresh.one, vec![]).await, Tally::NOTHING);
    assert_eq!(add(&fresh.one, records.iter().rev().cloned().collect()).await, added(records.len() as u64));
    for record in &records {
        assert_eq!(add(&fresh.one, vec![record.clone()]).await, Tally::NOTHING, "omitted records stay");
    }
    fresh.settle().await;
    let stores = &fresh.other;
    assert_eq!(contents(stores).await, by_key(records.clone()));
    for record in records {
        assert_eq!(stores.records.find(&record.key()).await.unwrap(), Some(record));
    }
    let listing = stores.listings().read(user, ListingScope::Guild(guild_id(2))).await.unwrap();
    let subscribed = Arc::new(subscription(user, [1, 2], 3));
    assert_eq!(
        (&listing.subscription, &listing.guild_subscriptions),
        (&Some(subscribed.clone()), &vec![subscribed])
    );
    assert_eq!(listing.staff, staff([StaffPermission::Support]));
    assert!(stores.blocked.is_blocked(user_id(8)).await.unwrap());
    assert_eq!(stores.sessions.of_user(user).await.unwrap(), [session(1, user, at(1))]);
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
    let tally = try_sync(&fresh.one, &Replace::default(), Stream::in_batches(twice, 1000)).await.unwrap();
    assert_eq!(tally, Tally::NOTHING, "what is the same in the end has not changed");
    assert_eq!(contents(&fresh.one).await, by_key(two_of_each()));
}

pub(super) async fn the_tally_counts_exactly_the_differences(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    assert_eq!(add(&fresh.one, two_of_each()).await, Tally::NOTHING);
    let everything = replacing(super::common::replaceable());
    let again = try_sync(&fresh.one, &everything, Stream::in_batches(two_of_each(), 5)).await.unwrap();
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
    let tally = try_sync(&fresh.one, &kinds, Stream::in_batches(records, 4)).await.unwrap();
    // Added: guild 3 and its member, team member 3, block 7. Changed: guild 2, member 2, team member 2. Removed:
    // feedback two, team member 1, block 9.
    assert_eq!(tally, Tally { added: 4, changed: 3, removed: 3 });
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
