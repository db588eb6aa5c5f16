//! Guilds in great numbers, at one moment, and with callers who stop waiting.

use crate::{
    conformance::{
        Fresh,
        concurrency::all_of,
        given_up::GivenUp,
        sample::{LOTS, guild, guild_id, member, some_of_lots, user_id},
    },
    world::roles,
};
use companion_domain::{
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleKey, UserId},
    port::GuildDirectory,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use tokio::task::JoinHandle;

type Port = dyn GuildDirectory;

/// A guild that says how often it was put, with more bound roles than anyone needs.
fn counted(id: GuildId, times: u64) -> Guild {
    let bound: Vec<_> = (1..=200).collect();
    Guild {
        members: MemberCount::new(times).unwrap(),
        bindings: RoleBindings::new(RoleKey::ALL.iter().map(|key| (*key, roles(&bound)))),
        ..guild(id)
    }
}

pub(super) async fn very_many_guilds_are_seen_at_once(fresh: &Fresh<Port>) {
    let (ids, user): (Vec<_>, _) = ((1..=LOTS).map(guild_id).collect(), user_id(5));
    let put = all_of(ids.iter().map(async |id| fresh.one.put(&guild(*id)).await)).await;
    assert!(put.into_iter().all(|tally| tally.is_ok()));
    let put =
        all_of(ids.iter().map(async |id| fresh.one.put_member(&member(*id, user, &[id.get()])).await)).await;
    assert!(put.into_iter().all(|tally| tally.is_ok_and(|tally| tally.is_some())));
    fresh
        .through_both(async |store| {
            let mut seen = store.seen_by(user, &ids).await.unwrap();
            seen.sort_by_key(|seen| seen.guild.id);
            assert_eq!(seen.len(), ids.len());
            for (id, seen) in ids.iter().zip(seen) {
                assert_eq!((&*seen.guild, &*seen.roles), (&guild(*id), &roles(&[id.get()])));
            }
        })
        .await;
}

pub(super) async fn very_many_members_go_with_their_guild(fresh: &Fresh<Port>) {
    let (id, users): (_, Vec<_>) = (guild_id(1), (1..=LOTS).map(user_id).collect());
    fresh.one.put(&guild(id)).await.unwrap();
    let put =
        all_of(users.iter().map(async |user| fresh.one.put_member(&member(id, *user, &[7])).await)).await;
    assert!(put.into_iter().all(|tally| tally.is_ok_and(|tally| tally.is_some())));
    let with_roles = async |store: &Port| {
        let asked = some_of_lots().map(async |user| store.seen_by(user_id(user), &[id]).await.unwrap());
        all_of(asked).await.into_iter().flatten().filter(|seen| !seen.roles.is_empty()).count()
    };
    assert_eq!(with_roles(&*fresh.one).await, some_of_lots().count());
    fresh.one.remove(id).await.unwrap();
    fresh.one.put(&guild(id)).await.unwrap();
    fresh.through_both(async |store| assert_eq!(with_roles(&**store).await, 0)).await;
}

/// The first guild is always put before the second, so nobody sees the second ahead of it.
pub(super) async fn guilds_are_seen_as_of_one_moment(fresh: &Fresh<Port>) {
    let ids = [guild_id(1), guild_id(2)];
    for id in ids {
        fresh.one.put(&counted(id, 0)).await.unwrap();
    }
    fresh.settle().await;
    let (done, reads) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let readers = [&fresh.one, &fresh.other].map(|store| {
        let (store, done, reads) = (Arc::clone(store), Arc::clone(&done), Arc::clone(&reads));
        tokio::spawn(async move {
            while !done.load(Ordering::SeqCst) {
                let mut seen = store.seen_by(user_id(1), &ids).await.unwrap();
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
    // Until there was enough of both, whoever is the quicker.
    for times in 1.. {
        for id in ids {
            fresh.one.put(&counted(id, times)).await.unwrap();
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

pub(super) async fn a_write_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<Port>) {
    let id = |number: u64| guild_id(number + 1);
    let user: UserId = user_id(5);
    let ready = async |store: &Arc<Port>, number| {
        store.put(&counted(id(number), 1)).await.unwrap();
        store.put_member(&member(id(number), user, &[1, 2])).await.unwrap();
    };
    let look = async |store: &Arc<Port>, number| {
        let seen = store.seen_by(user, &[id(number)]).await.unwrap();
        seen.into_iter()
            .map(|seen| (seen.guild.members, seen.guild.bindings.clone(), (*seen.roles).clone()))
            .collect::<Vec<_>>()
    };
    let further = async |store: &Arc<Port>| {
        store.put(&guild(guild_id(u64::MAX))).await.unwrap();
        store.remove(guild_id(u64::MAX)).await.unwrap();
    };
    let write = async |store: &Arc<Port>, number| {
        let bindings = RoleBindings::new([(RoleKey::Mod, roles(&[1]))]);
        store.put(&Guild { bindings, ..counted(id(number), 2) }).await.unwrap();
    };
    GivenUp { fresh, what: "a put", ready, write, look, further }.leaves_all_or_nothing().await;
    let write = async |store: &Arc<Port>, number| store.remove(id(number)).await.unwrap();
    GivenUp { fresh, what: "a removal", ready, write, look, further }.leaves_all_or_nothing().await;
}
