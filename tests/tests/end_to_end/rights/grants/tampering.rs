//! Someone with a hand in the database moves grants about, or alters them.

use super::{GUILD, owned, two_arrive};
use crate::rights::stage::{ALMOST, MOMENT, OTHER, REFRESH_AFTER, Stage, USER, id};
use companion_domain::port::{GrantContent, Sealed};

async fn stored(stage: &Stage, user: u64) -> GrantContent {
    stage.served.adapters.stores.grants.find(id(user)).await.unwrap().unwrap().content
}

async fn store(stage: &Stage, user: u64, content: &GrantContent) {
    stage.served.adapters.stores.grants.replace(id(user), content).await.unwrap();
}

/// The list is shown while it is fresh. After that the fault is ours, and nobody is signed out by it.
async fn is_our_fault(stage: &Stage, users: &[(u64, &str)]) {
    stage.pass(ALMOST);
    for (_, token) in users {
        assert_eq!(stage.shown(token).await.guilds, owned());
    }
    stage.pass(MOMENT);
    let before = stage.control.all_calls();
    for (user, token) in users {
        for _ in 0..3 {
            let answer = stage.ask(token).await;
            assert_eq!((answer.status, answer.word().as_str()), (500, "internal"), "{}", answer.body);
            stage.pass(REFRESH_AFTER);
        }
        assert_eq!(stage.sessions(*user).await, 1);
    }
    assert_eq!(stage.control.all_calls(), before, "nothing is sent that did not open");
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_that_were_swapped_between_two_users_open_for_neither() {
    let stage = Stage::new().await;
    let (one, other) = two_arrive(&stage).await;
    let (first, second) = (stored(&stage, USER).await, stored(&stage, OTHER).await);
    store(&stage, USER, &second).await;
    store(&stage, OTHER, &first).await;
    is_our_fault(&stage, &[(USER, &one), (OTHER, &other)]).await;
    // Each gets out of it by signing in; the old session is as good as the new one then.
    stage.signs_in(USER).await;
    assert_eq!(stage.shown_afresh(&one).await.guilds, owned());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_was_altered_does_not_open() {
    let stage = Stage::new().await;
    let (one, other) = two_arrive(&stage).await;
    let good = stored(&stage, USER).await;
    let bytes = good.tokens.clone().unwrap().as_bytes().to_vec();
    let (mut flipped, mut empty) = (bytes.clone(), bytes.clone());
    flipped[bytes.len() / 2] ^= 1;
    empty.clear();
    for altered in [flipped, bytes[..bytes.len() - 1].to_vec(), empty] {
        stage.signs_in(OTHER).await;
        // As young as the test expects it to be.
        let list = stored(&stage, OTHER).await.list;
        store(&stage, USER, &GrantContent { tokens: Some(Sealed::from_bytes(altered)), list }).await;
        is_our_fault(&stage, &[(USER, &one)]).await;
    }
    store(&stage, USER, &good).await;
    assert_eq!(stage.shown_afresh(&one).await.guilds, owned());
    assert_eq!(
        stage.shown_afresh(&other).await.guilds,
        [GUILD.shown("Owner", &crate::rights::guild::MANAGING)]
    );
    stage.stop().await;
}
