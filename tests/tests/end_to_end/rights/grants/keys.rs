//! The keys are changed while people are signed in.

use super::{owned, two_arrive};
use crate::rights::stage::{REFRESH_AFTER, Stage, USER, id};

const OLD: &str = "b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xkIG9sZCE=";
const NEW: &str = "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyE=";
const KEYS: &str = "COMPANION_SECRETS__KEY";

fn ring(keys: &[&str]) -> String {
    serde_json::to_string(keys).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_grants_outlive_a_new_first_key_and_move_over_to_it() {
    let stage = Stage::with(&[(KEYS, OLD)], |_| {}).await;
    let (token, other) = two_arrive(&stage).await;

    let stage = stage.restart(&[(KEYS, &ring(&[NEW, OLD]))]).await;
    assert_eq!(stage.shown(&token).await.guilds, owned());
    let sealed = |stage: &Stage| {
        let grants = stage.served.adapters.stores.grants.clone();
        async move { grants.find(id(USER)).await.unwrap().unwrap().content.tokens.unwrap() }
    };
    let before = sealed(&stage).await;
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
    assert_ne!(sealed(&stage).await, before, "what was used is sealed with the new key");
    let newcomer = stage.signs_in(USER).await;

    // What moved over no longer needs the old key.
    let stage = stage.restart(&[(KEYS, NEW)]).await;
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&newcomer).await.guilds, owned());
    // Sessions that the old key signed ended with it, which is what taking it away is for.
    for token in [token, other] {
        assert_eq!(stage.ask(&token).await.word(), "token_invalid");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_renewed_under_the_new_key_opens_without_the_old_one() {
    let stage = Stage::with(&[(KEYS, OLD)], |_| {}).await;
    let _ = two_arrive(&stage).await;
    let stage = stage.restart(&[(KEYS, &ring(&[NEW, OLD]))]).await;
    let token = stage.signs_in(USER).await;
    stage.control.expire_access(Some(USER));
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
    let stage = stage.restart(&[(KEYS, NEW)]).await;
    stage.control.expire_access(Some(USER));
    stage.pass(REFRESH_AFTER);
    assert_eq!(stage.shown_afresh(&token).await.guilds, owned());
    assert_eq!(stage.control.calls_of(USER).renewals, 2);
    stage.stop().await;
}
