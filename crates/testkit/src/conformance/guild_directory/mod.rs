//! What a [`GuildDirectory`] promises.

mod many;
mod members;

use self::{
    many::{
        a_write_that_is_given_up_is_made_whole_or_not_at_all, guilds_are_seen_as_of_one_moment,
        very_many_guilds_are_seen_at_once, very_many_members_go_with_their_guild,
    },
    members::{
        a_guild_takes_its_members_along_for_good, a_guild_that_changes_keeps_its_members,
        a_large_set_of_roles_is_kept, a_member_is_set_changed_and_forgotten,
        a_member_of_an_unknown_guild_is_not_kept, a_user_sees_their_own_roles_and_nobody_elses,
        members_put_at_once_are_never_lost, members_put_while_their_guild_goes_go_with_it,
        setting_a_member_counts_what_it_did,
    },
};
use super::{
    Damage, Fresh,
    sample::{AWKWARD, BEYOND_SIGNED, awkward_names, guild, guild_id, member, name, user_id},
};
use crate::world::roles;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleKey},
    port::GuildDirectory,
};

/// No guild.
const NONE: [u64; 0] = [];

suite! {
    /// Makes one test of each behaviour of a `GuildDirectory`.
    guild_directory_conformance($): guild_directory, dyn GuildDirectory;
    what_was_never_reported_is_not_there,
    a_guild_is_found_as_it_was_put,
    a_put_replaces_everything_and_counts_what_it_did,
    bound_roles_are_replaced_and_not_added_to,
    removing_can_be_repeated_and_counts_once,
    ids_beyond_63_bits_are_kept_apart,
    only_known_guilds_are_seen_each_once,
    many_guilds_can_be_asked_for_at_once,
    every_reader_sees_a_guild_that_was_answered_for,
    of_callers_at_once_exactly_one_adds_a_guild,
    guilds_put_at_once_are_never_lost,
    a_member_is_set_changed_and_forgotten,
    setting_a_member_counts_what_it_did,
    a_member_of_an_unknown_guild_is_not_kept,
    a_user_sees_their_own_roles_and_nobody_elses,
    a_large_set_of_roles_is_kept,
    a_guild_that_changes_keeps_its_members,
    a_guild_takes_its_members_along_for_good,
    members_put_at_once_are_never_lost,
    members_put_while_their_guild_goes_go_with_it,
    names_are_kept_to_the_character,
    very_many_guilds_are_seen_at_once,
    very_many_members_go_with_their_guild,
    guilds_are_seen_as_of_one_moment,
    a_write_that_is_given_up_is_made_whole_or_not_at_all,
    a_write_does_not_block_the_thread_that_polls_it needs Gating,
    a_guild_or_member_that_cannot_be_read_costs_no_other needs Damaging,
}

async fn found(store: &dyn GuildDirectory, id: GuildId) -> Option<Guild> {
    store.find(id).await.unwrap().map(|guild| (*guild).clone())
}

/// The ids of the guilds that are seen, in order.
async fn seen(store: &dyn GuildDirectory, asked: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let asked: Vec<_> = asked.into_iter().map(guild_id).collect();
    let seen = store.seen_by(user_id(1), &asked).await.unwrap();
    let mut ids: Vec<_> = seen.iter().map(|seen| seen.guild.id.get()).collect();
    ids.sort_unstable();
    ids
}

async fn what_was_never_reported_is_not_there(fresh: &Fresh<Port>) {
    let store = &fresh.one;
    assert_eq!(found(&**store, guild_id(1)).await, None);
    assert_eq!(seen(&**store, [1, 2]).await, NONE);
    assert_eq!(seen(&**store, []).await, NONE);
    assert_eq!(store.remove(guild_id(1)).await.unwrap(), Tally::NOTHING);
    assert_eq!(store.remove_member(guild_id(1), user_id(1)).await.unwrap(), None);
}

async fn a_guild_is_found_as_it_was_put(fresh: &Fresh<Port>) {
    let plain = guild(guild_id(1));
    let bare = Guild {
        icon: None,
        setup: false,
        members: MemberCount::new(0).unwrap(),
        bindings: RoleBindings::default(),
        ..guild(guild_id(2))
    };
    let full =
        Guild {
            name: name(AWKWARD),
            icon: Some("https://pictures.example/%F0%9F%A6%80.png?a=1&b=2#c".parse().unwrap()),
            members: MemberCount::new(MemberCount::MAX.into()).unwrap(),
            owner: user_id(u64::MAX),
            linked: true,
            bindings: RoleBindings::new((1..).zip(RoleKey::ALL).map(|(role, key)| {
                (*key, roles(&(role..=role + 400).chain([u64::MAX]).collect::<Vec<_>>()))
            })),
            ..guild(guild_id(3))
        };
    for guild in [&plain, &bare, &full] {
        fresh.one.put(guild).await.unwrap();
    }
    fresh.settle().await;
    for guild in [plain, bare, full] {
        let seen = fresh.other.seen_by(user_id(1), &[guild.id]).await.unwrap();
        assert_eq!(seen.iter().map(|seen| &*seen.guild).collect::<Vec<_>>(), [&guild]);
        assert_eq!(found(&*fresh.other, guild.id).await, Some(guild));
    }
}

async fn a_put_replaces_everything_and_counts_what_it_did(fresh: &Fresh<Port>) {
    let mut guild = guild(guild_id(1));
    assert_eq!(fresh.one.put(&guild).await.unwrap(), Tally::ADDED);
    assert_eq!(fresh.one.put(&guild).await.unwrap(), Tally::NOTHING);
    let changes: [fn(&mut Guild); 9] = [
        |guild| guild.name = name("Renamed"),
        |guild| guild.name = name("renamed"),
        |guild| guild.icon = None,
        |guild| guild.icon = Some("https://pictures.example/new.png".parse().unwrap()),
        |guild| guild.members = MemberCount::new(13).unwrap(),
        |guild| guild.owner = user_id(8),
        |guild| guild.setup = !guild.setup,
        |guild| guild.linked = !guild.linked,
        |guild| guild.bindings = RoleBindings::new([(RoleKey::ErlcStaff, roles(&[4]))]),
    ];
    for (number, change) in changes.iter().enumerate() {
        change(&mut guild);
        assert_eq!(fresh.one.put(&guild).await.unwrap(), Tally::CHANGED, "change {number}");
        assert_eq!(fresh.one.put(&guild).await.unwrap(), Tally::NOTHING, "change {number} again");
        fresh.settle().await;
        assert_eq!(found(&*fresh.other, guild.id).await, Some(guild.clone()), "change {number}");
    }
}

async fn bound_roles_are_replaced_and_not_added_to(fresh: &Fresh<Port>) {
    let bound = |bindings: &[(RoleKey, &[u64])]| Guild {
        bindings: RoleBindings::new(bindings.iter().map(|(key, numbers)| (*key, roles(numbers)))),
        ..guild(guild_id(1))
    };
    for guild in [
        bound(&[(RoleKey::Mod, &[1, 2, 3]), (RoleKey::Admin, &[4])]),
        bound(&[(RoleKey::Mod, &[2, 5])]),
        bound(&[(RoleKey::SessionStarter, &[2])]),
        bound(&[]),
    ] {
        fresh.one.put(&guild).await.unwrap();
        assert_eq!(found(&*fresh.one, guild.id).await, Some(guild));
    }
}

async fn removing_can_be_repeated_and_counts_once(fresh: &Fresh<Port>) {
    let [gone, stays] = [1, 2].map(|id| guild(guild_id(id)));
    fresh.one.put(&gone).await.unwrap();
    fresh.one.put(&stays).await.unwrap();
    assert_eq!(fresh.one.remove(gone.id).await.unwrap(), Tally::REMOVED);
    assert_eq!(fresh.one.remove(gone.id).await.unwrap(), Tally::NOTHING);
    fresh.settle().await;
    assert_eq!(found(&*fresh.other, gone.id).await, None);
    assert_eq!(seen(&*fresh.other, [1, 2]).await, [2]);
    assert_eq!(fresh.one.put(&gone).await.unwrap(), Tally::ADDED);
}

async fn ids_beyond_63_bits_are_kept_apart(fresh: &Fresh<Port>) {
    let ids = [1, BEYOND_SIGNED - 1, BEYOND_SIGNED, BEYOND_SIGNED + 1, u64::MAX];
    let guild = |id| Guild { owner: user_id(id), ..guild(guild_id(id)) };
    for id in ids {
        assert_eq!(fresh.one.put(&guild(id)).await.unwrap(), Tally::ADDED);
    }
    assert_eq!(seen(&*fresh.one, ids).await, ids);
    for id in ids {
        assert_eq!(found(&*fresh.one, guild_id(id)).await, Some(guild(id)));
    }
}

async fn only_known_guilds_are_seen_each_once(fresh: &Fresh<Port>) {
    for id in [1, 2, 3] {
        fresh.one.put(&guild(guild_id(id))).await.unwrap();
    }
    assert_eq!(seen(&*fresh.one, [2, 9, 1, 2, 2]).await, [1, 2]);
    assert_eq!(seen(&*fresh.one, [9]).await, NONE);
    assert_eq!(seen(&*fresh.one, []).await, NONE);
}

async fn many_guilds_can_be_asked_for_at_once(fresh: &Fresh<Port>) {
    for id in 1..=40 {
        fresh.one.put(&guild(guild_id(id * 50))).await.unwrap();
    }
    let expected: Vec<_> = (1..=40).map(|id| id * 50).collect();
    assert_eq!(seen(&*fresh.one, 1..=2000).await, expected);
}

async fn every_reader_sees_a_guild_that_was_answered_for(fresh: &Fresh<Port>) {
    for members in 0..5 {
        let guild = Guild { members: MemberCount::new(members).unwrap(), ..guild(guild_id(1)) };
        fresh.one.put(&guild).await.unwrap();
        fresh
            .through_both(async |store| {
                assert_eq!(found(&**store, guild.id).await.as_ref(), Some(&guild));
            })
            .await;
    }
    fresh.one.remove(guild_id(1)).await.unwrap();
    fresh
        .through_both(async |store| {
            assert_eq!(found(&**store, guild_id(1)).await, None);
        })
        .await;
}

async fn of_callers_at_once_exactly_one_adds_a_guild(fresh: &Fresh<Port>) {
    let tallies =
        fresh.concurrently(|_, store| async move { store.put(&guild(guild_id(1))).await.unwrap() }).await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::ADDED).count(), 1);
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::NOTHING).count(), tallies.len() - 1);
    let tallies =
        fresh.concurrently(|_, store| async move { store.remove(guild_id(1)).await.unwrap() }).await;
    assert_eq!(tallies.iter().filter(|tally| **tally == Tally::REMOVED).count(), 1);
}

async fn guilds_put_at_once_are_never_lost(fresh: &Fresh<Port>) {
    fresh
        .concurrently(|number, store| async move { store.put(&guild(guild_id(number + 1))).await.unwrap() })
        .await;
    assert_eq!(seen(&*fresh.one, 1..=32).await, (1..=32).collect::<Vec<_>>());
}

async fn names_are_kept_to_the_character(fresh: &Fresh<Port>) {
    let guilds: Vec<_> =
        (1..).zip(awkward_names()).map(|(id, name)| Guild { name, ..guild(guild_id(id)) }).collect();
    for guild in &guilds {
        assert_eq!(fresh.one.put(guild).await.unwrap(), Tally::ADDED);
        assert_eq!(fresh.one.put(guild).await.unwrap(), Tally::NOTHING, "the same again: {guild:?}");
    }
    fresh
        .through_both(async |store| {
            for guild in &guilds {
                assert_eq!(found(&**store, guild.id).await.as_ref(), Some(guild));
                let seen = store.seen_by(user_id(1), &[guild.id]).await.unwrap();
                assert_eq!(seen.iter().map(|seen| &*seen.guild).collect::<Vec<_>>(), [guild]);
            }
        })
        .await;
}

async fn a_write_does_not_block_the_thread_that_polls_it(fresh: &Fresh<Port>) {
    fresh.waits_elsewhere(async |store| store.put(&guild(guild_id(1))).await.unwrap()).await;
}

async fn a_guild_or_member_that_cannot_be_read_costs_no_other(fresh: &Fresh<Port>) {
    let ids = [1, 2, 3, 4].map(guild_id);
    for id in ids {
        fresh.one.put(&guild(id)).await.unwrap();
        fresh.one.put_member(&member(id, user_id(5), &[7])).await.unwrap();
    }
    let [damaged, without_roles, removed, _] = ids;
    for what in [Damage::Guild(damaged), Damage::Member(without_roles, user_id(5)), Damage::Guild(removed)] {
        if !fresh.damage(what).await {
            return;
        }
    }
    let roles_seen = async |store: &Port| {
        let mut seen = store.seen_by(user_id(5), &ids).await.unwrap();
        seen.sort_by_key(|seen| seen.guild.id);
        seen.iter().map(|seen| (seen.guild.id.get(), seen.roles.as_slice().len())).collect::<Vec<_>>()
    };
    fresh
        .through_both(async |store| {
            assert_eq!(found(&**store, damaged).await, None);
            assert_eq!(roles_seen(&**store).await, [(2, 0), (4, 1)], "roles that cannot be read are none");
        })
        .await;
    fresh.one.put(&guild(damaged)).await.unwrap();
    fresh.one.put_member(&member(without_roles, user_id(5), &[7])).await.unwrap();
    assert_eq!(fresh.one.remove(removed).await.unwrap(), Tally::REMOVED);
    fresh.through_both(async |store| assert_eq!(roles_seen(&**store).await, [(1, 1), (2, 1), (4, 1)])).await;
}
