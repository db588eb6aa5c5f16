//! Every way to write through `Records`, cancelled and blocked; several writes as one change; guilds and their members.

use super::{
    common::{add, by_key, contents, exported, put_all, replacing},
    kinds::{KEYED, KeyedKind, two_of_each},
};
use crate::{
    conformance::{
        Fresh, Stores,
        concurrency::cancelled,
        sample::{
            LOTS, at, cluster_id, feedback, grant, guild, guild_id, heartbeat, member, name, session, shards,
            some_of_lots, staff, subscription, team_member, user_id,
        },
        stream::Stream,
    },
    world::roles,
};
use companion_domain::{
    change::{Applied, Key, Kind, Tally},
    model::{Guild, Heartbeat, RoleSet, Roster, StaffPermission, UserId},
    port::{ApplyError, Grant, GrantVersion, Mutation, Record},
};
use std::sync::Arc;

enum Write {
    Apply(Vec<Mutation>),
    /// Replaces subscriptions.
    Sync(Vec<Record>),
    Forget(UserId),
}

impl Write {
    fn put(records: impl IntoIterator<Item = Record>) -> Self {
        Self::Apply(records.into_iter().map(Mutation::Put).collect())
    }

    fn remove(keys: impl IntoIterator<Item = Key>) -> Self {
        Self::Apply(keys.into_iter().map(Mutation::Remove).collect())
    }

    async fn make(&self, stores: &Stores) {
        match self {
            Self::Apply(batch) => drop(stores.records.apply(batch.clone()).await.unwrap()),
            Self::Sync(records) => {
                let mut stream = Stream::in_batches(records.clone(), 2);
                stores.records.sync(&replacing([Kind::Subscription]), &mut stream).await.unwrap();
            }
            Self::Forget(user) => drop(stores.records.forget(*user).await.unwrap()),
        }
    }
}

/// A write, with its name and what leads to the state that it changes.
type Step = (String, Vec<Write>, Write);

fn steps() -> Vec<Step> {
    let (user, id) = (user_id(7), guild_id(7));
    let of_user = || {
        vec![
            Record::Guild(guild(id)),
            Record::Member(member(id, user, &[1])),
            Record::Staff(user, staff([StaffPermission::Support])),
            Record::Feedback(feedback("said", 5, user)),
            Record::Session(session(1, user, at(0))),
            Record::Grant(user, Grant { version: GrantVersion(1), content: grant(1) }),
        ]
    };
    let batch = || [Record::Guild(guild(id)), Record::Member(member(id, user, &[1])), Record::Blocked(user)];
    let gone = || Write::remove([Key::Guild(id), Key::Blocked(user)]);
    let team = |users: [u64; 3], position| {
        let members = users.map(|user| team_member(user_id(user), "Core", position));
        Write::Apply(vec![Mutation::ReplaceTeam(Roster::new(members.to_vec()).unwrap())])
    };
    let clusters = ["one", "two", "three"];
    let reports = || Write::Apply(clusters.map(|name| Mutation::Report(heartbeat(name, at(1)))).to_vec());
    let report = Heartbeat { shards: shards([5, 6, 7]), ..heartbeat("one", at(2)) };
    let silent = clusters.map(|name| (cluster_id(name), at(1))).to_vec();
    let replaced = || Write::put([Record::Subscription(subscription(user_id(8), [7], 1))]);
    [
        ("a sync", vec![Write::Forget(user), gone(), replaced()], Write::Sync(of_user())),
        ("forgetting", vec![Write::Sync(of_user())], Write::Forget(user)),
        ("a batch", vec![gone()], Write::put(batch())),
        ("a removal", vec![Write::put(batch())], gone()),
        ("a team", vec![team([1, 2, 3], 1)], team([3, 4, 5], 2)),
        ("a report", vec![reports()], Write::Apply(vec![Mutation::Report(report)])),
        ("a retirement", vec![reports()], Write::Apply(vec![Mutation::RemoveSilent(silent)])),
    ]
    .map(|(what, ready, write)| (what.to_owned(), ready, write))
    .into()
}

/// Returns a put that changes a record, or adds one of a kind without variants.
fn put(kind: &KeyedKind) -> Option<Step> {
    let variants = kind.variants(1);
    let (first, last) = (variants.first()?.clone(), variants.last()?.clone());
    let earlier = if variants.len() > 1 { Write::put([first]) } else { Write::remove([first.key()]) };
    Some((format!("a {}", kind.name()), vec![Write::put(kind.needed([1])), earlier], Write::put([last])))
}

pub(super) async fn a_cancelled_write_is_complete_or_absent(fresh: &Fresh<Stores>) {
    cancelled_at_each(fresh, steps()).await;
}

pub(super) async fn a_cancelled_put_is_complete_or_absent(fresh: &Fresh<Stores>) {
    cancelled_at_each(fresh, KEYED.iter().filter_map(put)).await;
}

async fn cancelled_at_each(fresh: &Fresh<Stores>, steps: impl IntoIterator<Item = Step>) {
    for (what, ready, write) in steps {
        let ready = async |stores: &Arc<Stores>, _| {
            for earlier in &ready {
                earlier.make(stores).await;
            }
        };
        let further = async |stores: &Arc<Stores>| match write {
            Write::Apply(_) => drop(stores.records.remove(Key::Blocked(user_id(999))).await.unwrap()),
            Write::Sync(_) => drop(add(stores, vec![]).await),
            Write::Forget(_) => drop(stores.records.forget(user_id(999)).await.unwrap()),
        };
        let make = async |stores: &Arc<Stores>, _| write.make(stores).await;
        // An export is one snapshot: a cancelled write may be applied between two reads.
        let look = async |stores: &Arc<Stores>, _| {
            let mut clusters = stores.telemetry.clusters().await.unwrap();
            clusters.sort_by(|one, two| one.cluster.cmp(&two.cluster));
            (by_key(exported(stores).await), clusters)
        };
        cancelled(fresh, &what, ready, make, look, further).await;
    }
}

pub(super) async fn a_write_does_not_block_the_polling_thread(fresh: &Fresh<Stores>) {
    for (_, ready, write) in steps().into_iter().chain(KEYED.iter().filter_map(put)) {
        for earlier in ready {
            earlier.make(&fresh.one).await;
        }
        fresh.waits_elsewhere(async move |stores: &Stores| write.make(stores).await).await;
    }
}

pub(super) async fn a_batch_is_applied_in_order(fresh: &Fresh<Stores>) {
    let named = |text| Record::Guild(Guild { name: name(text), ..guild(guild_id(1)) });
    let batch = vec![
        Mutation::Put(named("First")),
        Mutation::Put(Record::Member(member(guild_id(1), user_id(1), &[1]))),
        Mutation::Remove(Key::Guild(guild_id(1))),
        Mutation::Put(named("Second")),
        Mutation::Put(Record::Member(member(guild_id(1), user_id(2), &[2]))),
        Mutation::Put(Record::Blocked(user_id(3))),
        Mutation::Remove(Key::Blocked(user_id(3))),
    ];
    let applied = fresh.one.records.apply(batch).await.unwrap();
    assert_eq!(applied.tally, Tally { added: 5, changed: 0, removed: 2 });
    let left = vec![named("Second"), Record::Member(member(guild_id(1), user_id(2), &[2]))];
    fresh.through_both(async |stores| assert_eq!(contents(stores).await, by_key(left.clone()))).await;
    assert_eq!(fresh.one.records.apply(vec![]).await.unwrap(), Applied::default());
}

pub(super) async fn a_refused_batch_changes_nothing(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let before = fresh.one.changes.latest().await.unwrap();
    let upheaval = || {
        vec![
            Mutation::Put(Record::Guild(Guild { name: name("Changed"), ..guild(guild_id(1)) })),
            Mutation::Remove(Key::Staff(user_id(1))),
            Mutation::Put(Record::Feedback(feedback("three", 5, user_id(1)))),
            Mutation::ReplaceTeam(Roster::default()),
        ]
    };
    let lost = |guild| Mutation::Put(Record::Member(member(guild_id(guild), user_id(1), &[1])));
    let refused = [
        (vec![lost(99)], "guild 99 is not known"),
        (vec![Mutation::Remove(Key::Member(guild_id(99), user_id(1)))], "guild 99 is not known"),
        (vec![Mutation::Remove(Key::Guild(guild_id(1))), lost(1)], "guild 1 is not known"),
        (vec![lost(3), Mutation::Put(Record::Guild(guild(guild_id(3))))], "guild 3 is not known"),
        (vec![Mutation::Put(Record::Team(team_member(user_id(3), "Core", 1)))], "team is not put by itself"),
        (vec![Mutation::Put(Record::Session(session(9, user_id(1), at(1))))], "session is not put by itself"),
    ];
    for (last, why) in refused {
        let refused = fresh.one.records.apply([upheaval(), last].concat()).await;
        assert_eq!(refused.map_err(|error| error.to_string()), Err(why.to_owned()));
        fresh.through_both(async |stores| assert_eq!(contents(stores).await, by_key(two_of_each()))).await;
    }
    assert_eq!(fresh.one.changes.latest().await.unwrap(), before, "and nothing is said to have changed");
    let later = Record::Guild(guild(guild_id(99)));
    fresh.one.records.put(later.clone()).await.unwrap();
    let expected = by_key([two_of_each(), vec![later]].concat());
    assert_eq!(contents(&fresh.one).await, expected, "a guild that comes later brings no members");
}

/// Returns a user's roles in a known guild.
async fn roles_of(stores: &Stores, guild: u64, user: u64) -> RoleSet {
    let seen = stores.guilds.with_roles(user_id(user), &[guild_id(guild)]).await.unwrap();
    assert_eq!(seen.len(), 1);
    seen.first().map(|seen| (*seen.roles).clone()).unwrap()
}

/// A changed guild keeps its members, and a removed one does not.
pub(super) async fn removing_a_guild_removes_its_members(fresh: &Fresh<Stores>) {
    let member_of = |guild, user| Record::Member(member(guild_id(guild), user_id(user), &[guild]));
    put_all(&fresh.one, [1, 2].map(|id| Record::Guild(guild(guild_id(id))))).await;
    put_all(&fresh.one, (1..=LOTS).map(|user| member_of(1, user)).chain([member_of(2, 1)])).await;
    let renamed = Record::Guild(Guild { name: name("Renamed"), ..guild(guild_id(1)) });
    fresh.one.records.put(renamed).await.unwrap();
    let with_roles = async |stores: &Stores| {
        let mut count = 0;
        for user in some_of_lots() {
            count += usize::from(!roles_of(stores, 1, user).await.is_empty());
        }
        count
    };
    assert_eq!(with_roles(&fresh.one).await, some_of_lots().count());
    let removed = fresh.one.records.remove(Key::Guild(guild_id(1))).await.unwrap();
    assert_eq!(removed, Tally::REMOVED, "members that go along do not count");
    fresh.one.records.put(Record::Guild(guild(guild_id(1)))).await.unwrap();
    fresh
        .through_both(async |stores| {
            assert_eq!(with_roles(stores).await, 0, "the new guild starts without members");
            assert_eq!(roles_of(stores, 2, 1).await, roles(&[2]));
        })
        .await;
    assert_eq!(fresh.one.records.put(member_of(1, 1)).await.unwrap(), Tally::ADDED);
}

pub(super) async fn members_put_during_a_guild_removal_are_removed(fresh: &Fresh<Stores>) {
    fresh.one.records.put(Record::Guild(guild(guild_id(1)))).await.unwrap();
    let removed = fresh
        .concurrently(|number, stores| async move {
            if number == 16 {
                return stores.records.remove(Key::Guild(guild_id(1))).await.unwrap().removed;
            }
            // Whether it is written before or after the removal, it must not exist in the end.
            let member = Record::Member(member(guild_id(1), user_id(number + 1), &[1]));
            match stores.records.put(member).await {
                Ok(_) | Err(ApplyError::UnknownGuild(_)) => {}
                other => panic!("{other:?}"),
            }
            0
        })
        .await;
    assert_eq!(removed.into_iter().sum::<u64>(), 1);
    fresh.one.records.put(Record::Guild(guild(guild_id(1)))).await.unwrap();
    for user in 1..=32 {
        assert_eq!(roles_of(&fresh.one, 1, user).await, roles(&[]));
    }
}
