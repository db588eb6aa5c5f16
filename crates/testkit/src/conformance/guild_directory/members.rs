//! Members and their roles.

use crate::{
    conformance::{
        Fresh,
        sample::{BEYOND_SIGNED, guild, guild_id, member, name, user_id},
    },
    world::roles,
};
use companion_domain::{
    change::Tally,
    model::{Guild, Member, RoleId, RoleSet},
    port::GuildDirectory,
};

/// A user's roles in a guild that is known.
async fn roles_of(store: &dyn GuildDirectory, guild: u64, user: u64) -> RoleSet {
    let seen = store.seen_by(user_id(user), &[guild_id(guild)]).await.unwrap();
    assert_eq!(seen.len(), 1);
    seen.first().map(|seen| (*seen.roles).clone()).unwrap()
}

async fn put_guilds(fresh: &Fresh<dyn GuildDirectory>, ids: impl IntoIterator<Item = u64>) {
    for id in ids {
        fresh.one.put(&guild(guild_id(id))).await.unwrap();
    }
}

pub(super) async fn a_member_is_set_changed_and_forgotten(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    assert_eq!(roles_of(&*fresh.one, 1, 5).await, roles(&[]));
    for numbers in [&[1, 2][..], &[2, 3], &[9], &[]] {
        fresh.one.put_member(&member(guild_id(1), user_id(5), numbers)).await.unwrap();
        fresh
            .through_both(async |store| {
                assert_eq!(roles_of(&**store, 1, 5).await, roles(numbers));
            })
            .await;
    }
    fresh.one.put_member(&member(guild_id(1), user_id(5), &[4])).await.unwrap();
    fresh.one.remove_member(guild_id(1), user_id(5)).await.unwrap();
    fresh.settle().await;
    assert_eq!(roles_of(&*fresh.other, 1, 5).await, roles(&[]));
}

pub(super) async fn setting_a_member_counts_what_it_did(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    let put = async |numbers: &[u64]| {
        fresh.one.put_member(&member(guild_id(1), user_id(5), numbers)).await.unwrap()
    };
    let remove = async || fresh.one.remove_member(guild_id(1), user_id(5)).await.unwrap();
    assert_eq!(remove().await, Some(Tally::NOTHING));
    assert_eq!(put(&[1, 2]).await, Some(Tally::ADDED));
    assert_eq!(put(&[2, 1, 1]).await, Some(Tally::NOTHING));
    assert_eq!(put(&[1, 3]).await, Some(Tally::CHANGED));
    assert_eq!(remove().await, Some(Tally::REMOVED));
    assert_eq!(remove().await, Some(Tally::NOTHING));
    assert_eq!(put(&[1, 3]).await, Some(Tally::ADDED));
}

pub(super) async fn a_member_of_an_unknown_guild_is_not_kept(fresh: &Fresh<dyn GuildDirectory>) {
    assert_eq!(fresh.one.put_member(&member(guild_id(1), user_id(5), &[1])).await.unwrap(), None);
    assert_eq!(fresh.one.remove_member(guild_id(1), user_id(5)).await.unwrap(), None);
    put_guilds(fresh, [1]).await;
    assert_eq!(roles_of(&*fresh.one, 1, 5).await, roles(&[]), "a guild that comes later brings no members");
}

pub(super) async fn a_user_sees_their_own_roles_and_nobody_elses(fresh: &Fresh<dyn GuildDirectory>) {
    let ids = [5, BEYOND_SIGNED, BEYOND_SIGNED + 5, u64::MAX];
    put_guilds(fresh, ids).await;
    for guild in ids {
        for user in ids {
            let member = member(guild_id(guild), user_id(user), &[guild, user]);
            assert_eq!(fresh.one.put_member(&member).await.unwrap(), Some(Tally::ADDED));
        }
    }
    fresh.one.remove_member(guild_id(5), user_id(5)).await.unwrap();
    for user in ids {
        let seen = fresh.one.seen_by(user_id(user), &ids.map(guild_id)).await.unwrap();
        assert_eq!(seen.len(), ids.len());
        for seen in seen {
            let guild = seen.guild.id.get();
            let expected = if (guild, user) == (5, 5) { roles(&[]) } else { roles(&[guild, user]) };
            assert_eq!(*seen.roles, expected, "user {user} in guild {guild}");
        }
    }
    assert_eq!(roles_of(&*fresh.one, 5, 6).await, roles(&[]), "a user whom the bot never named");
}

pub(super) async fn a_large_set_of_roles_is_kept(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    let numbers = (0..500).map(|number| RoleId::new(u64::MAX - number * 1_000_003).unwrap());
    let large =
        Member { roles: RoleSet::new(numbers.collect()).unwrap(), ..member(guild_id(1), user_id(5), &[]) };
    fresh.one.put_member(&large).await.unwrap();
    assert_eq!(roles_of(&*fresh.one, 1, 5).await, large.roles);
    assert_eq!(fresh.one.put_member(&large).await.unwrap(), Some(Tally::NOTHING));
}

pub(super) async fn a_guild_that_changes_keeps_its_members(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    fresh.one.put_member(&member(guild_id(1), user_id(5), &[1, 2])).await.unwrap();
    fresh.one.put(&Guild { name: name("Renamed"), ..guild(guild_id(1)) }).await.unwrap();
    assert_eq!(roles_of(&*fresh.one, 1, 5).await, roles(&[1, 2]));
}

pub(super) async fn a_guild_takes_its_members_along_for_good(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1, 2]).await;
    for guild in [1, 2] {
        for user in [5, 6] {
            fresh.one.put_member(&member(guild_id(guild), user_id(user), &[guild])).await.unwrap();
        }
    }
    assert_eq!(
        fresh.one.remove(guild_id(1)).await.unwrap(),
        Tally::REMOVED,
        "members that go along do not count"
    );
    put_guilds(fresh, [1]).await;
    fresh.settle().await;
    for user in [5, 6] {
        assert_eq!(
            roles_of(&*fresh.other, 1, user).await,
            roles(&[]),
            "the new guild starts without members"
        );
        assert_eq!(roles_of(&*fresh.other, 2, user).await, roles(&[2]));
    }
    let again = member(guild_id(1), user_id(5), &[1]);
    assert_eq!(fresh.one.put_member(&again).await.unwrap(), Some(Tally::ADDED));
}

pub(super) async fn members_put_at_once_are_never_lost(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    let tallies = fresh
        .concurrently(|number, store| async move {
            store.put_member(&member(guild_id(1), user_id(number + 1), &[number + 1])).await.unwrap()
        })
        .await;
    assert!(tallies.into_iter().all(|tally| tally == Some(Tally::ADDED)));
    for user in 1..=32 {
        assert_eq!(roles_of(&*fresh.one, 1, user).await, roles(&[user]));
    }
}

pub(super) async fn members_put_while_their_guild_goes_go_with_it(fresh: &Fresh<dyn GuildDirectory>) {
    put_guilds(fresh, [1]).await;
    let removed = fresh
        .concurrently(|number, store| async move {
            if number == 16 {
                return store.remove(guild_id(1)).await.unwrap().removed;
            }
            // Whether it comes before or after the removal, it must not be there in the end.
            store.put_member(&member(guild_id(1), user_id(number + 1), &[1])).await.unwrap();
            0
        })
        .await;
    assert_eq!(removed.into_iter().sum::<u64>(), 1);
    put_guilds(fresh, [1]).await;
    for user in 1..=32 {
        assert_eq!(roles_of(&*fresh.one, 1, user).await, roles(&[]));
    }
}
