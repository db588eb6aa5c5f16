//! The contract of a [`GuildDirectory`](companion_domain::port::GuildDirectory).

use super::{
    Damage, Fresh, Stores,
    sample::{BEYOND_SIGNED, LOTS, guild, guild_id, member, user_id},
};
use crate::world::roles;
use companion_domain::{
    change::Key,
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleKey},
    port::{GuildTotals, Mutation, Record},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use tokio::task::JoinHandle;

/// No guild.
const NONE: [u64; 0] = [];

suite! {
    /// Generates one test per behaviour of a `GuildDirectory`. It needs `Records` to write with.
    guild_directory_conformance($): guild_directory, Stores;
    returns_known_guilds_once,
    returns_only_the_roles_of_the_user,
    accepts_a_long_list_of_guilds,
    returns_very_many_guilds,
    counts_guilds_and_their_members,
    guilds_are_read_from_one_snapshot,
    an_unreadable_guild_or_member_affects_no_other needs Damaging,
}

async fn put_all(stores: &Stores, records: impl IntoIterator<Item = Record>) {
    stores.records.apply(records.into_iter().map(Mutation::Put).collect()).await.unwrap();
}

/// Returns the ids of the visible guilds, in order.
async fn seen(stores: &Stores, asked: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let asked: Vec<_> = asked.into_iter().map(guild_id).collect();
    let seen = stores.guilds.with_roles(user_id(1), &asked).await.unwrap();
    let mut ids: Vec<_> = seen.iter().map(|seen| seen.guild.id.get()).collect();
    ids.sort_unstable();
    ids
}

/// Returns a guild whose member count is the number of puts, with many bound roles.
fn counted(id: GuildId, times: u64) -> Guild {
    let bound: Vec<_> = (1..=200).collect();
    Guild {
        members: MemberCount::new(times).unwrap(),
        bindings: RoleBindings::new(RoleKey::ALL.iter().map(|key| (*key, roles(&bound)))),
        ..guild(id)
    }
}

async fn counts_guilds_and_their_members(fresh: &Fresh<Stores>) {
    let totals = async |stores: &Stores| stores.guilds.totals().await.unwrap();
    assert_eq!(totals(&fresh.one).await, Some(GuildTotals::default()));
    let most = u64::from(MemberCount::MAX);
    let large = |id| Record::Guild(Guild { members: MemberCount::new(most).unwrap(), ..guild(guild_id(id)) });
    put_all(&fresh.one, [1, 2, 3].map(large)).await;
    let expected = Some(GuildTotals { guilds: 3, members: 3 * most });
    fresh.through_both(async |stores| assert_eq!(totals(stores).await, expected)).await;
}

async fn returns_known_guilds_once(fresh: &Fresh<Stores>) {
    assert_eq!(seen(&fresh.one, [1, 2]).await, NONE);
    put_all(&fresh.one, [1, 2, 3].map(|id| Record::Guild(guild(guild_id(id))))).await;
    fresh
        .through_both(async |stores| {
            assert_eq!(seen(stores, [2, 9, 1, 2, 2]).await, [1, 2]);
            assert_eq!(seen(stores, [9]).await, NONE);
            assert_eq!(seen(stores, []).await, NONE);
        })
        .await;
    fresh.one.records.remove(Key::Guild(guild_id(2))).await.unwrap();
    fresh.through_both(async |stores| assert_eq!(seen(stores, [1, 2, 3]).await, [1, 3])).await;
}

async fn returns_only_the_roles_of_the_user(fresh: &Fresh<Stores>) {
    let ids = [5, BEYOND_SIGNED, BEYOND_SIGNED + 5, u64::MAX];
    for id in ids {
        let members = ids.map(|user| Record::Member(member(guild_id(id), user_id(user), &[id, user])));
        put_all(&fresh.one, [Record::Guild(guild(guild_id(id)))].into_iter().chain(members)).await;
    }
    fresh.one.records.remove(Key::Member(guild_id(5), user_id(5))).await.unwrap();
    fresh
        .through_both(async |stores| {
            for user in ids.into_iter().chain([6]) {
                let seen = stores.guilds.with_roles(user_id(user), &ids.map(guild_id)).await.unwrap();
                assert_eq!(seen.len(), ids.len());
                for seen in seen {
                    let guild = seen.guild.id.get();
                    let none = (guild, user) == (5, 5) || user == 6;
                    let expected = if none { roles(&[]) } else { roles(&[guild, user]) };
                    assert_eq!(*seen.roles, expected, "user {user} in guild {guild}");
                }
            }
        })
        .await;
}

async fn accepts_a_long_list_of_guilds(fresh: &Fresh<Stores>) {
    let there: Vec<_> = (1..=40).map(|id| id * 50).collect();
    put_all(&fresh.one, there.iter().map(|id| Record::Guild(guild(guild_id(*id))))).await;
    assert_eq!(seen(&fresh.one, 1..=2000).await, there);
}

async fn returns_very_many_guilds(fresh: &Fresh<Stores>) {
    let (ids, user): (Vec<_>, _) = ((1..=LOTS).map(guild_id).collect(), user_id(5));
    let records =
        ids.iter().flat_map(|id| [Record::Guild(guild(*id)), Record::Member(member(*id, user, &[id.get()]))]);
    put_all(&fresh.one, records).await;
    fresh
        .through_both(async |stores| {
            let mut seen = stores.guilds.with_roles(user, &ids).await.unwrap();
            seen.sort_by_key(|seen| seen.guild.id);
            assert_eq!(seen.len(), ids.len());
            for (id, seen) in ids.iter().zip(seen) {
                assert_eq!((&*seen.guild, &*seen.roles), (&guild(*id), &roles(&[id.get()])));
            }
        })
        .await;
}

/// The first guild is always written before the second, so no reader may see the second ahead of it.
async fn guilds_are_read_from_one_snapshot(fresh: &Fresh<Stores>) {
    let ids = [guild_id(1), guild_id(2)];
    for id in ids {
        put_all(&fresh.one, [Record::Guild(counted(id, 0))]).await;
    }
    fresh.settle().await;
    let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers = [&fresh.one, &fresh.other].map(|stores| {
        let (stores, done, reads) = (Arc::clone(stores), Arc::clone(&done), Arc::clone(&reads));
        tokio::spawn(async move {
            while !done.load(Ordering::SeqCst) {
                let mut seen = stores.guilds.with_roles(user_id(1), &ids).await.unwrap();
                seen.sort_by_key(|seen| seen.guild.id);
                let times: Vec<_> = seen.iter().map(|seen| seen.guild.members.get()).collect();
                let [first, second] = times[..] else { panic!("both are there: {times:?}") };
                assert!(
                    second <= first && first - second <= 1,
                    "{first} and {second} were never there at once"
                );
                reads.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        })
    });
    // Until both reader and writer have run often enough.
    for times in 1.. {
        for id in ids {
            put_all(&fresh.one, [Record::Guild(counted(id, times))]).await;
            tokio::task::yield_now().await;
        }
        if (times > 40 && reads.load(Ordering::SeqCst) > 100) || readers.iter().any(JoinHandle::is_finished) {
            break;
        }
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
}

async fn an_unreadable_guild_or_member_affects_no_other(fresh: &Fresh<Stores>) {
    let ids = [1, 2, 3, 4].map(guild_id);
    let user = user_id(5);
    for id in ids {
        put_all(&fresh.one, [Record::Guild(guild(id)), Record::Member(member(id, user, &[7]))]).await;
    }
    let [damaged, without_roles, removed, _] = ids;
    for what in [Damage::Guild(damaged), Damage::Member(without_roles, user), Damage::Guild(removed)] {
        if !fresh.damage(what).await {
            return;
        }
    }
    let roles_seen = async |stores: &Stores| {
        let mut seen = stores.guilds.with_roles(user, &ids).await.unwrap();
        seen.sort_by_key(|seen| seen.guild.id);
        seen.iter().map(|seen| (seen.guild.id.get(), seen.roles.as_slice().len())).collect::<Vec<_>>()
    };
    let without = "roles that cannot be read are none";
    fresh
        .through_both(async |stores| assert_eq!(roles_seen(stores).await, [(2, 0), (4, 1)], "{without}"))
        .await;
    put_all(&fresh.one, [Record::Guild(guild(damaged)), Record::Member(member(without_roles, user, &[7]))])
        .await;
    fresh.one.records.remove(Key::Guild(removed)).await.unwrap();
    fresh.through_both(async |stores| assert_eq!(roles_seen(stores).await, [(1, 1), (2, 1), (4, 1)])).await;
}
