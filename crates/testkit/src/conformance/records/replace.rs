//! What a sync removes.

use super::common::{add, assert_same, by_key, contents, replace, replaceable, replacing, two_of_each};
use crate::conformance::{
    Fresh, Stores,
    sample::{
        BEYOND_SIGNED, LOTS, feedback, guild, guild_id, guild_id_in, member, staff, subscription, user_id,
    },
    stream::Stream,
};
use companion_domain::{
    change::{Key, Kind, Tally},
    model::{GuildId, StaffPermission},
    port::{Record, Replace, ShardSlice},
};
use std::collections::BTreeSet;

pub(super) async fn each_kind_is_replaced_alone(fresh: &Fresh<Stores>) {
    for kind in replaceable() {
        add(&fresh.one, two_of_each()).await;
        let mut expected = two_of_each();
        // The second record of each kind is left out. Only an outline depends on it.
        let left_out = expected.iter().rposition(|record| record.kind() == kind).unwrap();
        let gone = expected.remove(left_out);
        let gone = if let Record::Guild(guild) = gone { Some(guild.id) } else { None };
        expected.retain(|record| !matches!(record, Record::Outline(outline) if Some(outline.guild) == gone));
        let sent = expected.iter().filter(|record| record.kind() == kind).cloned().collect();
        assert_eq!(replace(&fresh.one, &replacing([kind]), sent).await, Tally::REMOVED, "{kind:?}");
        assert_eq!(contents(&fresh.one).await, by_key(expected), "{kind:?}");
    }
}

/// Returns guilds of three shards, including ids above the signed range: 2^63 belongs to shard 2 of 3.
fn guilds_of_three_shards() -> Vec<(u32, GuildId)> {
    let mut guilds: Vec<_> =
        (0..9).map(|number| (u32::try_from(number % 3).unwrap(), guild_id_in(number, number + 1))).collect();
    guilds.push((2, guild_id(BEYOND_SIGNED)));
    guilds.push((0, guild_id(BEYOND_SIGNED + (1 << 22))));
    guilds
}

fn with_member(id: GuildId) -> [Record; 2] {
    [Record::Guild(guild(id)), Record::Member(member(id, user_id(1), &[1]))]
}

pub(super) async fn a_shard_replaces_only_its_own_guilds(fresh: &Fresh<Stores>) {
    let all = guilds_of_three_shards();
    for index in 0..3 {
        add(&fresh.one, all.iter().flat_map(|(_, id)| with_member(*id)).collect()).await;
        let mut mine = all.iter().filter(|(shard, _)| *shard == index).map(|(_, id)| *id);
        // The shard keeps one guild without its member, one unchanged, and removes the others. A guild of another shard
        // is added all the same.
        let (emptied, kept) = (mine.next().unwrap(), mine.next().unwrap());
        let foreign = guild_id_in(u64::from(index) + 1, 77);
        let sent =
            [vec![Record::Guild(guild(emptied))], with_member(kept).to_vec(), with_member(foreign).to_vec()]
                .concat();
        let shard = ShardSlice::new(index, 3);
        let kinds = BTreeSet::from([Kind::Guild, Kind::Member]);
        replace(&fresh.one, &Replace { kinds, shard }, sent.clone()).await;
        let others = all.iter().filter(|(shard, _)| *shard != index).flat_map(|(_, id)| with_member(*id));
        assert_eq!(contents(&fresh.one).await, by_key(others.chain(sent).collect()), "shard {index} of 3");
        fresh.one.records.remove(Key::Guild(foreign)).await.unwrap();
    }
}

pub(super) async fn a_shard_limits_only_guilds_and_members(fresh: &Fresh<Stores>) {
    add(&fresh.one, two_of_each()).await;
    let sent = vec![
        Record::Subscription(subscription(user_id(1), [1, 2], 3)),
        Record::Guild(guild(guild_id(1))),
        Record::Guild(guild(guild_id(2))),
    ];
    let rest = Replace { kinds: replaceable().collect(), shard: ShardSlice::new(1, 2) };
    replace(&fresh.one, &rest, sent.clone()).await;
    let kept = two_of_each().into_iter().filter(|record| {
        let kind = record.kind();
        // Guilds 1 and 2 belong to shard 0, with their members and outlines.
        kind == Kind::Guild || kind.is_of_guild() || kind.replaced().is_none()
    });
    assert_eq!(contents(&fresh.one).await, by_key(kept.chain(sent).collect()));
}

pub(super) async fn replaces_very_many_records(fresh: &Fresh<Stores>) {
    let world = |first: u64| -> Vec<_> {
        let records = (first..first + LOTS).flat_map(|number| {
            let (id, user) = (guild_id(number), user_id(number));
            [
                Record::Guild(guild(id)),
                Record::Member(member(id, user_id(1), &[number])),
                Record::Subscription(subscription(user, [number], 1)),
                Record::Staff(user, staff([StaffPermission::Support])),
                Record::Blocked(user),
                Record::Feedback(feedback(&format!("f-{number}"), 5, user)),
            ]
        });
        records.collect()
    };
    for first in [1, 10_000] {
        let mut stream = Stream::in_batches(world(first), 700);
        let tally = fresh.one.records.sync(&replacing(replaceable()), &mut stream).await.unwrap().tally;
        // Members are removed with their guilds, counted or not.
        let expected = if first == 1 { 0..=0 } else { 5 * LOTS..=6 * LOTS };
        assert!(expected.contains(&tally.removed), "{tally:?}");
        assert_eq!((tally.added, tally.changed), (6 * LOTS, 0));
        assert_same(&contents(&fresh.one).await, &by_key(world(first)));
    }
}
