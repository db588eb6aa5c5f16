//! Many writers of one grant.

use super::common::alice;
use crate::conformance::{
    Fresh,
    concurrency::CALLERS,
    sample::{at, grant, guild_id},
};
use companion_domain::{
    model::{GuildList, Membership, PlatformPermissions},
    port::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, StoreErrorKind},
};

pub(super) async fn of_claims_at_once_exactly_one_is_granted(fresh: &Fresh<dyn GrantStore>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    // The second round takes over the claim of the first.
    for (until, dead) in [(100, None), (200, Some(at(100)))] {
        let claims = fresh
            .concurrently(move |_, store| async move {
                store.claim_refresh(alice(), version, at(until), dead).await.unwrap()
            })
            .await;
        let (granted, held): (Vec<_>, Vec<_>) =
            claims.into_iter().partition(|claimed| *claimed == Claimed::Granted);
        assert_eq!(granted.len(), 1);
        assert!(held.iter().all(|claimed| *claimed == Claimed::Held(at(until))), "{held:?}");
    }
}

pub(super) async fn of_updates_at_once_exactly_one_wins(fresh: &Fresh<dyn GrantStore>) {
    let version = fresh.one.replace(alice(), &grant(1000)).await.unwrap();
    let attempts = fresh
        .concurrently(move |number, store| async move {
            let updated = store.update(alice(), version, &grant(number), ClaimAfter::Released).await;
            updated.map(|version| Grant { version, content: grant(number) }).map_err(|error| error.kind)
        })
        .await;
    let (won, lost): (Vec<_>, Vec<_>) = attempts.into_iter().partition(Result::is_ok);
    assert!(lost.iter().all(|attempt| *attempt == Err(StoreErrorKind::Conflict)));
    assert_eq!(won, [Ok(fresh.one.find(alice()).await.unwrap().unwrap())]);
}

/// Every task adds its guild to the list, and reads again where someone else was faster.
pub(super) async fn updates_that_are_tried_again_are_never_lost(fresh: &Fresh<dyn GrantStore>) {
    let empty = GuildList { memberships: [].into(), fetched_at: at(0) };
    fresh.one.replace(alice(), &GrantContent { tokens: None, list: Some(empty) }).await.unwrap();
    fresh
        .concurrently(|number, store| {
            let caches = fresh.settler();
            async move {
                let permissions = PlatformPermissions::default();
                let mine = Membership { guild: guild_id(number + 1), owner: false, permissions };
                loop {
                    let found = store.find(alice()).await.unwrap().unwrap();
                    let list = found.content.list.unwrap();
                    let memberships = list.memberships.iter().copied().chain([mine]).collect();
                    let list = Some(GuildList { memberships, ..list });
                    let content = GrantContent { list, ..found.content };
                    match store.update(alice(), found.version, &content, ClaimAfter::Kept).await {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error.kind, StoreErrorKind::Conflict),
                    }
                    caches.settle().await;
                }
            }
        })
        .await;
    let list = fresh.one.find(alice()).await.unwrap().unwrap().content.list.unwrap();
    let mut guilds: Vec<_> = list.memberships.iter().map(|membership| membership.guild.get()).collect();
    guilds.sort_unstable();
    assert_eq!(guilds, (1..=CALLERS).collect::<Vec<_>>());
}

pub(super) async fn of_replacements_at_once_the_highest_version_stays(fresh: &Fresh<dyn GrantStore>) {
    let mut written = fresh
        .concurrently(|number, store| async move {
            (store.replace(alice(), &grant(number)).await.unwrap(), number)
        })
        .await;
    written.sort_unstable();
    assert!(
        written.windows(2).all(|pair| matches!(pair, [one, two] if one.0 < two.0)),
        "no version comes twice"
    );
    let last = written.last().map(|(version, number)| Grant { version: *version, content: grant(*number) });
    assert_eq!(fresh.one.find(alice()).await.unwrap(), last);
}

pub(super) async fn of_removals_at_once_exactly_one_removes(fresh: &Fresh<dyn GrantStore>) {
    let version = fresh.one.replace(alice(), &grant(1)).await.unwrap();
    let removed = fresh
        .concurrently(move |_, store| async move { store.remove(alice(), version).await.unwrap() })
        .await;
    assert_eq!(removed.into_iter().filter(|removed| *removed).count(), 1);
    assert_eq!(fresh.one.find(alice()).await.unwrap(), None);
}
