//! What a sign-in may be used for is a parameter in the user's own browser. Whoever leaves some of it out harms nobody.

use super::{
    alone,
    stage::{Stage, USER, account},
};
use crate::{amount, served::Client};
use companion_dev_identity::{CodeTerms, Route};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::task::JoinSet;

const OTHER: u64 = USER + 1;
const CONNECTIONS: usize = 16;

impl Stage {
    fn code_for(&self, scope: &str) -> String {
        let terms = CodeTerms { scope: Some(scope.to_owned()), ..CodeTerms::default() };
        self.control.mint_code_with(USER, terms)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_without_the_scopes_ends_before_any_further_call_and_leaves_the_authorisation_alone() {
    let _turn = alone().await;
    let stage = Stage::new().await;
    let session = stage.sign_in(&stage.code()).await;
    assert_eq!(session.status, 200);
    let calls = || [Route::User, Route::Guilds, Route::Revoke].map(|route| stage.control.calls(route));
    let before = calls();
    for scope in ["identify", "guilds", "email guilds.join", "identity guild"] {
        let code = stage.code_for(scope);
        let refused = stage.sign_in(&code).await;
        assert_eq!((refused.status, refused.word().as_str()), (401, "idp_scope_missing"), "{scope}");
        let again = stage.sign_in(&code).await;
        assert_eq!((again.status, again.word().as_str()), (401, "idp_code_invalid"), "the code is spent");
    }
    assert_eq!(calls(), before);
    assert!(stage.control.is_authorised(USER), "revoking one token would have ended the first session, too");
    for scope in ["guilds identify", "email  guilds connections identify"] {
        assert_eq!(stage.sign_in(&stage.code_for(scope)).await.status, 200, "{scope}");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_sign_ins_without_scopes_leave_the_others_working() {
    let _turn = alone().await;
    // As if every post came from another address: the limit of an address would stop most of them.
    let stage = Stage::with(&[("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000000")]).await;
    stage.control.put_user(account(OTHER));
    let stage = Arc::new(stage);
    let total = amount("SCOPELESS_SIGN_INS", 500);
    let next = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (stage, next) = (Arc::clone(&stage), Arc::clone(&next));
        connections.spawn(async move {
            let mut client = Client::connect(stage.served.public).await;
            let mut answers = BTreeMap::new();
            while next.fetch_add(1, Ordering::Relaxed) < total {
                let answer = client.sign_in(&stage.code_for("email")).await;
                *answers.entry((answer.status, answer.word())).or_insert(0) += 1;
            }
            answers
        });
    }
    let mut answers = BTreeMap::new();
    for (answer, times) in connections.join_all().await.into_iter().flatten() {
        *answers.entry(answer).or_insert(0) += times;
    }
    let calls = [Route::Token, Route::User, Route::Guilds].map(|route| stage.control.calls(route));
    let other = stage.sign_in(&stage.control.mint_code(OTHER)).await;
    println!(
        "{total} sign-ins without scopes: {answers:?}, calls to token, user, guilds {calls:?}; then another user: {} {}",
        other.status,
        other.word()
    );
    assert_eq!(answers, [((401, "idp_scope_missing".to_owned()), total)].into());
    assert_eq!(calls, [total as u64, 0, 0]);
    assert_eq!(other.status, 200, "{}", other.body);
    Arc::into_inner(stage).unwrap().stop().await;
}
