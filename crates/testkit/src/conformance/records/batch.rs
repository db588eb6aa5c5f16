//! Several writes as one change, and the result of a write.

use super::{
    common::{add, by_key, contents, two_of_each},
    kinds::KEYED,
};
use crate::conformance::{
    Fresh, Stores,
    sample::{at, feedback, guild, guild_id, heartbeat, member, name, session, staff, team_member, user_id},
    stream::Stream,
};
use companion_domain::{
    change::{Applied, Changes, Key, Kind, Tally},
    model::{Guild, Roster, StaffPermission},
    port::{Mutation, Record, Replace},
};

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
}

/// Asserts that the feed lists exactly the changes that the write returned.
async fn is_listed(fresh: &Fresh<Stores>, write: impl AsyncFnOnce(&Stores) -> Applied) {
    let before = fresh.one.changes.latest().await.unwrap();
    let applied = write(&fresh.one).await;
    let listed = fresh.one.changes.since(before).await.unwrap();
    assert_eq!(listed, Changes::Listed(applied.changes.clone()), "{applied:?}");
    assert_eq!(applied.changes.is_empty(), applied.tally == Tally::NOTHING, "{applied:?}");
}

pub(super) async fn a_write_returns_its_changes(fresh: &Fresh<Stores>) {
    for kind in &KEYED {
        kind.prepare(&fresh.one, [1]).await;
        for record in kind.variants(1).into_iter().take(3).chain([kind.record(1), kind.record(1)]) {
            let batch = vec![Mutation::Put(record)];
            is_listed(fresh, async |stores| stores.records.apply(batch).await.unwrap()).await;
        }
        for _ in 0..2 {
            let batch = vec![Mutation::Remove(kind.key(1))];
            is_listed(fresh, async |stores| stores.records.apply(batch).await.unwrap()).await;
        }
    }
    let team = Roster::new(vec![team_member(user_id(1), "Core", 1)]).unwrap();
    let others = vec![
        Mutation::ReplaceTeam(team.clone()),
        Mutation::ReplaceTeam(team),
        Mutation::Report(heartbeat("one", at(1))),
        Mutation::Put(Record::Blocked(user_id(1))),
        Mutation::Put(Record::Staff(user_id(1), staff([StaffPermission::Support]))),
    ];
    is_listed(fresh, async |stores| stores.records.apply(others).await.unwrap()).await;
    for replaced in [None, Some(Kind::Blocked)] {
        is_listed(fresh, async |stores| {
            let replace = Replace { kinds: replaced.into_iter().collect(), shard: None };
            stores.records.sync(&replace, &mut Stream::in_batches(two_of_each(), 3)).await.unwrap()
        })
        .await;
    }
    for _ in 0..2 {
        is_listed(fresh, async |stores| stores.records.forget(user_id(1)).await.unwrap()).await;
    }
}
