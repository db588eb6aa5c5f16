//! Deadlines, and work that goes on without its caller. Time is paused, so waiting takes none.

use crate::{
    eventually::eventually,
    faulty::Fault,
    service::{Service, post_code},
};
use companion_domain::port::SessionStore as _;
use companion_storage_memory::IdentityCall;
use companion_testkit::world::{a_user, user_id};
use futures_util::FutureExt as _;
use std::{pin::pin, time::Duration};
use tokio::time::Instant;

#[actix_web::test]
async fn a_sign_in_that_takes_too_long_is_given_up_but_not_undone() {
    tokio::time::pause();
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let held = service.memory.identity.hold(IdentityCall::Guilds);
    let begun = Instant::now();
    service.call(post_code(&code)).await.assert_error(504, "provider_timeout");
    assert_eq!(begun.elapsed().as_secs(), 7);
    drop(held);
    until_signed_in(&service).await;
}

#[actix_web::test]
async fn a_sign_in_survives_its_caller_hanging_up() {
    let service = Service::new().await;
    let code = service.code_of(a_user(1), vec![]);
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    {
        let mut call = pin!(service.call(post_code(&code)));
        eventually(async || {
            assert!(call.as_mut().now_or_never().is_none(), "the platform has not answered yet");
            service.memory.identity.calls(IdentityCall::Exchange) == 1
        })
        .await;
    }
    assert_eq!(service.memory.storage.of_user(user_id(1)).await.unwrap(), []);
    drop(held);
    until_signed_in(&service).await;
}

#[actix_web::test]
async fn a_list_that_takes_longer_than_a_second_is_fetched_all_the_same() {
    tokio::time::pause();
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.memory.clock.advance(Duration::from_secs(61));
    let held = service.memory.identity.hold(IdentityCall::Guilds);
    let begun = Instant::now();
    assert_eq!(service.guilds(&token).await.header("age"), "61");
    assert_eq!(begun.elapsed().as_secs(), 1);
    drop(held);
    eventually(async || service.guilds(&token).await.header("age") == "0").await;
}

#[actix_web::test]
async fn a_store_that_does_not_answer_is_not_waited_for() {
    tokio::time::pause();
    let service = Service::new().await;
    let token = service.signed_in(vec![]).await;
    service.store.set(Some(Fault::Hangs));
    let begun = Instant::now();
    service.guilds(&token).await.assert_error(503, "storage_unavailable");
    assert_eq!(begun.elapsed().as_secs(), 5);
    for path in ["/", "/feedback", "/team"] {
        let answer = service.get(path).now_or_never();
        assert_eq!(answer.map(|answer| answer.status), Some(200), "memory answers at once: {path}");
    }
}

async fn until_signed_in(service: &Service) {
    eventually(async || !service.memory.storage.of_user(user_id(1)).await.unwrap().is_empty()).await;
}
