//! The contract of a [`GuildDirectory`](companion_domain::port::GuildDirectory).

use super::{
    Fresh, Stores,
    concurrency::reading_while_writing,
    records::put_all,
    sample::{BEYOND_SIGNED, LOTS, guild, guild_id, member, user_id},
};
use crate::world::roles;
use companion_domain::{
    change::Key,
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleKey},
    port::{GuildTotals, Record},
};
use std::sync::Arc;

suite! {
    /// Generates one test per behaviour of a `GuildDirectory`. It needs `Records` to write with.
    guild_directory_conformance($): guild_directory, Stores;
    returns_known_guilds_once,
    returns_only_the_roles_of_the_user,
    counts_guilds_and_their_members,
    guilds_are_read_from_one_snapshot,
}

async fn counts_guilds_and_their_members(fresh: &Fresh<Stores>) {
    let totals = async |stores: &Stores| stores.guilds.totals().await.unwrap();
    assert_eq!(totals(&fresh.one).await, Some(GuildTotals::default()));
    let most = u64::from(MemberCount::MAX);
    let large = |id| Record::Guild(Guild { members: MemberCount::new(most).unwrap(), ..guild(guild_id(id)) });
    put_all(&fresh.one, [1, 2, 3].map(large)).await;
    let expected = Some(GuildTotals { guilds: 3, members: 3 * most });
    assert_eq!(fresh.shows(async |stores| totals(stores).await).await, expected);
}

/// Very many, each requested twice, with as many unknown ones between them.
async fn returns_known_guilds_once(fresh: &Fresh<Stores>) {
    let (mut ids, user): (Vec<_>, _) = ((1..=LOTS).map(|number| guild_id(2 * number)).collect(), user_id(5));
    let asked: Vec<_> = (1..=2 * LOTS).chain(1..=2 * LOTS).map(guild_id).collect();
    let returns = async |ids: &[GuildId]| {
        fresh
            .through_both(async |stores| {
                let mut seen = stores.guilds.with_roles(user, &asked).await.unwrap();
                seen.sort_by_key(|seen| seen.guild.id);
                assert_eq!(seen.len(), ids.len());
                for (id, seen) in ids.iter().zip(seen) {
                    assert_eq!((&*seen.guild, &*seen.roles), (&guild(*id), &roles(&[id.get()])));
                }
                assert_eq!(stores.guilds.with_roles(user, &[]).await.unwrap(), []);
            })
            .await;
    };
    returns(&[]).await;
    let records =
        ids.iter().flat_map(|id| [Record::Guild(guild(*id)), Record::Member(member(*id, user, &[id.get()]))]);
    put_all(&fresh.one, records).await;
    returns(&ids).await;
    fresh.one.records.remove(Key::Guild(ids.remove(0))).await.unwrap();
    returns(&ids).await;
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

/// The first guild is always written before the second, so no reader may see the second ahead of it.
async fn guilds_are_read_from_one_snapshot(fresh: &Fresh<Stores>) {
    let ids = [guild_id(1), guild_id(2)];
    // The member count is the number of the round, and many roles are bound.
    let bound: Vec<_> = (1..=200).collect();
    let write = async |round| {
        for id in ids {
            let bindings = RoleBindings::new(RoleKey::ALL.iter().map(|key| (*key, roles(&bound))));
            let guild = Guild { members: MemberCount::new(round).unwrap(), bindings, ..guild(id) };
            put_all(&fresh.one, [Record::Guild(guild)]).await;
            tokio::task::yield_now().await;
        }
    };
    write(0).await;
    let read = move |stores: Arc<Stores>| async move {
        let mut seen = stores.guilds.with_roles(user_id(1), &ids).await.unwrap();
        seen.sort_by_key(|seen| seen.guild.id);
        let rounds: Vec<_> = seen.iter().map(|seen| seen.guild.members.get()).collect();
        let is_one_moment = matches!(rounds[..], [first, second] if second <= first && first - second <= 1);
        assert!(is_one_moment, "{rounds:?} were never there at once");
    };
    reading_while_writing(fresh, read, write).await;
}
