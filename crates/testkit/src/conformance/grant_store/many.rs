//! Large grants, many of them, and callers who stop waiting.

use super::common::alice;
use crate::conformance::{
    Fresh,
    concurrency::all_of,
    given_up::GivenUp,
    sample::{LOTS, at, grant, guild_id, user_id},
};
use companion_domain::{
    model::{GuildList, Membership, PlatformPermissions, UserId},
    port::{ClaimAfter, Grant, GrantContent, GrantStore, Sealed},
};
use std::{num::NonZeroU32, sync::Arc};

type Port = dyn GrantStore;

/// Tokens of any length, and a list in which the platform repeats itself.
pub(super) async fn a_large_grant_is_kept_whole(fresh: &Fresh<Port>) {
    let membership = |number: u64| Membership {
        guild: guild_id(number % 1000 + 1),
        owner: number.is_multiple_of(7),
        permissions: PlatformPermissions::from_bits(number),
    };
    let content = |length| GrantContent {
        tokens: Some(Sealed::from_bytes((0..=255).cycle().take(length).collect())),
        list: Some(GuildList { memberships: (0..LOTS).map(membership).collect(), fetched_at: at(1) }),
    };
    let version = fresh.one.replace(alice(), &content(20_000)).await.unwrap();
    let expected = Grant { version, content: content(20_000) };
    fresh
        .through_both(async |store| assert_eq!(store.find(alice()).await.unwrap().as_ref(), Some(&expected)))
        .await;
    let version = fresh.one.update(alice(), version, &content(30_000), ClaimAfter::Kept).await.unwrap();
    let expected = Grant { version, content: content(30_000) };
    fresh
        .through_both(async |store| assert_eq!(store.find(alice()).await.unwrap().as_ref(), Some(&expected)))
        .await;
}

async fn granted_to_many(store: &Port, users: impl IntoIterator<Item = u64>) {
    let content = grant(1);
    let written = all_of(users.into_iter().map(|user| store.replace(user_id(user), &content))).await;
    assert!(written.into_iter().all(|version| version.is_ok()));
}

pub(super) async fn a_page_of_holders_is_full_while_there_are_more(fresh: &Fresh<Port>) {
    granted_to_many(&*fresh.one, 1..=LOTS).await;
    fresh
        .through_both(async |store| {
            let mut listed: Vec<UserId> = Vec::new();
            for expected in [500, 500, 203, 0] {
                let page =
                    store.holders(listed.last().copied(), NonZeroU32::new(500).unwrap()).await.unwrap();
                assert_eq!(page.len(), expected);
                listed.extend(page);
            }
            assert_eq!(store.holders(None, NonZeroU32::MAX).await.unwrap(), listed);
            listed.sort_unstable();
            assert_eq!(listed, (1..=LOTS).map(user_id).collect::<Vec<_>>());
        })
        .await;
}

/// Whoever goes through all grants removes some on the way.
pub(super) async fn who_pages_on_from_a_holder_who_is_gone_goes_on(fresh: &Fresh<Port>) {
    let (store, two) = (&fresh.one, NonZeroU32::new(2).unwrap());
    granted_to_many(&**store, 1..=7).await;
    let mut listed: Vec<UserId> = Vec::new();
    loop {
        let page = store.holders(listed.last().copied(), two).await.unwrap();
        let Some(last) = page.last().copied() else { break };
        listed.extend(page);
        assert!(listed.len() <= 7, "pages end: {listed:?}");
        let version = store.find(last).await.unwrap().unwrap().version;
        assert!(store.remove(last, version).await.unwrap());
    }
    listed.sort_unstable();
    assert_eq!(listed, (1..=7).map(user_id).collect::<Vec<_>>(), "each once");
}

pub(super) async fn a_write_that_is_given_up_is_made_whole_or_not_at_all(fresh: &Fresh<Port>) {
    let user = |number: u64| user_id(number + 1);
    let ready = async |store: &Arc<Port>, number| store.replace(user(number), &grant(1)).await.unwrap();
    let look =
        async |store: &Arc<Port>, number| store.find(user(number)).await.unwrap().map(|found| found.content);
    let further = async |store: &Arc<Port>| store.replace(user_id(u64::MAX), &grant(1)).await.unwrap();
    let write = async |store: &Arc<Port>, number| store.replace(user(number), &grant(2)).await.unwrap();
    GivenUp { fresh, what: "a replacement", ready, write, look, further }.leaves_all_or_nothing().await;
    let write = async |store: &Arc<Port>, number| {
        let version = store.find(user(number)).await.unwrap().unwrap().version;
        store.update(user(number), version, &grant(2), ClaimAfter::Released).await.unwrap();
    };
    GivenUp { fresh, what: "an update", ready, write, look, further }.leaves_all_or_nothing().await;
}
