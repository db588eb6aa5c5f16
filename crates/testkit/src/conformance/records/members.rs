//! Guilds and their members.

use super::common::put_all;
use crate::{
    conformance::{
        Fresh, Stores,
        sample::{LOTS, guild, guild_id, member, name, some_of_lots, user_id},
    },
    world::roles,
};
use companion_domain::{
    change::{Key, Tally},
    model::{Guild, RoleSet},
    port::{ApplyError, Record},
};

async fn put(stores: &Stores, record: Record) -> Tally {
    stores.records.put(record).await.unwrap()
}

/// Returns a user's roles in a known guild.
async fn roles_of(stores: &Stores, guild: u64, user: u64) -> RoleSet {
    let seen = stores.guilds.with_roles(user_id(user), &[guild_id(guild)]).await.unwrap();
    assert_eq!(seen.len(), 1);
    seen.first().map(|seen| (*seen.roles).clone()).unwrap()
}

async fn put_guilds(fresh: &Fresh<Stores>, ids: impl IntoIterator<Item = u64>) {
    put_all(&fresh.one, ids.into_iter().map(|id| Record::Guild(guild(guild_id(id))))).await;
}

pub(super) async fn a_member_of_an_unknown_guild_is_refused(fresh: &Fresh<Stores>) {
    let records = &fresh.one.records;
    let refused = [
        records.put(Record::Member(member(guild_id(1), user_id(5), &[1]))).await,
        records.remove(Key::Member(guild_id(1), user_id(5))).await,
    ];
    for refused in refused {
        assert!(
            matches!(refused, Err(ApplyError::UnknownGuild(guild)) if guild == guild_id(1)),
            "{refused:?}"
        );
    }
    assert_eq!(records.find(&Key::Member(guild_id(1), user_id(5))).await.unwrap(), None);
    put_guilds(fresh, [1]).await;
    assert_eq!(roles_of(&fresh.one, 1, 5).await, roles(&[]), "a guild that comes later brings no members");
}

/// A changed guild keeps its members, and a removed one does not.
pub(super) async fn removing_a_guild_removes_its_members(fresh: &Fresh<Stores>) {
    let member_of = |guild, user| Record::Member(member(guild_id(guild), user_id(user), &[guild]));
    put_guilds(fresh, [1, 2]).await;
    put_all(&fresh.one, (1..=LOTS).map(|user| member_of(1, user)).chain([member_of(2, 1)])).await;
    put(&fresh.one, Record::Guild(Guild { name: name("Renamed"), ..guild(guild_id(1)) })).await;
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
    put_guilds(fresh, [1]).await;
    fresh
        .through_both(async |stores| {
            assert_eq!(with_roles(stores).await, 0, "the new guild starts without members");
            assert_eq!(roles_of(stores, 2, 1).await, roles(&[2]));
        })
        .await;
    assert_eq!(put(&fresh.one, member_of(1, 1)).await, Tally::ADDED);
}

pub(super) async fn members_put_during_a_guild_removal_are_removed(fresh: &Fresh<Stores>) {
    put_guilds(fresh, [1]).await;
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
    put_guilds(fresh, [1]).await;
    for user in 1..=32 {
        assert_eq!(roles_of(&fresh.one, 1, user).await, roles(&[]));
    }
}
