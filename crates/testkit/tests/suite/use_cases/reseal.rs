//! All grants are sealed with the newest key, so that older keys can go.

use crate::use_cases::{GUILD, MINUTE, SECOND, Stage, USER};
use companion_domain::{
    port::{Claimed, GrantStore},
    usecase::Resealed,
};
use companion_testkit::{
    use_cases::{Settings, UseCases, settings},
    vault::TestVault,
    world::{an_ownership, user_id},
};
use std::sync::Arc;

impl Stage {
    /// The same ports, with these keys.
    fn with_keys(&self, vault: TestVault) -> UseCases {
        let mut ports = self.memory.ports.clone();
        ports.vault = Arc::new(vault);
        UseCases::new(&ports, settings())
    }
}

#[tokio::test]
async fn after_resealing_the_older_key_is_not_needed_any_more() {
    let stage = Stage::new();
    for user in USER..USER + 450 {
        stage.signs_in(user, vec![an_ownership(GUILD)]).await;
    }
    let both = stage.with_keys(TestVault::new(2).with_older(1));
    let mut told = Vec::new();
    let resealed = both.reseal.reseal(|sum| told.push(sum.total())).await.unwrap();
    assert_eq!(resealed, Resealed { resealed: 450, ..Resealed::default() });
    assert_eq!(told, [200, 400, 450]);
    let again = both.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(again, Resealed { untouched: 450, ..Resealed::default() });
    stage.memory.clock.advance(MINUTE);
    let newest = stage.with_keys(TestVault::new(2));
    assert!(newest.list_guilds.list(user_id(USER)).await.unwrap().age.is_zero());
}

#[tokio::test]
async fn what_a_refresh_holds_or_no_key_opens_is_left_as_it_is() {
    let stage = Stage::new();
    for user in [USER, USER + 1] {
        stage.signs_in(user, vec![]).await;
    }
    let keyless = Stage { use_cases: stage.with_keys(TestVault::new(9)), memory: stage.memory };
    keyless.signs_in(USER + 2, vec![]).await;
    let store = &*keyless.memory.storage;
    let before = GrantStore::find(store, user_id(USER)).await.unwrap().unwrap();
    let now = keyless.memory.ports.clock.now();
    let claimed = store.claim_refresh(user_id(USER), before.version, now.after(SECOND), None).await.unwrap();
    assert_eq!(claimed, Claimed::Granted);
    let both = keyless.with_keys(TestVault::new(2).with_older(1));
    let resealed = both.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(resealed, Resealed { resealed: 1, busy: 1, corrupt: 1, untouched: 0 });
    assert_eq!(GrantStore::find(store, user_id(USER)).await.unwrap(), Some(before));
}

#[tokio::test]
async fn grants_without_tokens_have_nothing_to_seal() {
    let stage = Stage::with(Settings { keep_tokens: false, ..settings() });
    stage.signs_in(USER, vec![]).await;
    let resealed = stage.use_cases.reseal.reseal(|_| ()).await.unwrap();
    assert_eq!(resealed, Resealed { untouched: 1, ..Resealed::default() });
}
