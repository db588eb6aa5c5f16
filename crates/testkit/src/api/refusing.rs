//! Services that refuse sign-ins, each for its own reason.

use super::{
    answer::Answer,
    service::{REFUSED_CODES, Service, answer, post_code},
};
use actix_web::test::init_service;
use companion_http::Redirects;
use companion_storage_memory::IdentityCall;
use futures_util::future::{Either, join_all, select};
use std::pin::pin;

/// A service whose operator has not configured sign-in.
pub async fn unconfigured() -> Service {
    Service::with(|plan| plan.public.redirects = Redirects::NotConfigured).await
}

/// How many sign-ins may be under way at once.
const MOST: usize = 1000;

/// What a service answers that has as many sign-ins under way as it takes.
pub async fn overloaded() -> Answer {
    let service = Service::new().await;
    let app = init_service(service.api.app()).await;
    let held = service.memory.identity.hold(IdentityCall::Exchange);
    let post = |index: usize| answer(&app, post_code(&format!("code-{index}")).to_request());
    let mut under_way = pin!(join_all((0..MOST).map(post)));
    let one_more = async {
        service.memory.identity.called(IdentityCall::Exchange, MOST as u64).await;
        post(MOST).await
    };
    let Either::Right((refused, _)) = select(under_way.as_mut(), pin!(one_more)).await else {
        panic!("the others are held")
    };
    drop(held);
    let ended = under_way.await;
    assert!(ended.iter().all(|ended| ended.status == 401), "they went on to their end");
    post(MOST).await.assert_error(401, "idp_code_invalid");
    refused
}

/// A service at which this address has used up its refusals.
pub async fn used_up_by(address: &str) -> Service {
    let service = Service::new().await;
    for _ in 0..REFUSED_CODES.get() {
        let code = post_code("made-up").peer_addr(format!("{address}:5000").parse().unwrap());
        service.call(code).await.assert_error(401, "idp_code_invalid");
    }
    service
}
