//! One answer of every kind that the public API gives.

use crate::{
    answer::Answer,
    faulty::Fault,
    refusing::{overloaded, unconfigured, used_up_by},
    service::{BODY_LIMIT, Service, post_code},
};
use actix_web::test::TestRequest;
use companion_domain::{
    model::{Guild, Roster},
    port::{Clock as _, IdentityErrorKind, Mutation, Record, StoreErrorKind},
};
use companion_storage_memory::{CodeTerms, IdentityCall};
use companion_testkit::world::{
    a_feedback, a_guild, a_heartbeat, a_subscription, a_team_member, an_ownership, user_id,
};
use std::time::Duration;

/// Every answer, with the operation it belongs to.
pub(crate) async fn every_public_answer() -> Vec<(&'static str, &'static str, Answer)> {
    let mut answers = Vec::new();
    let service = Service::new().await;
    let get = |path: &str| TestRequest::get().uri(path);
    let large = || vec![b'x'; BODY_LIMIT + 1];

    // Everything is well, first with nothing and then with something to show.
    let token = service.signed_in(vec![an_ownership(7), an_ownership(8)]).await;
    let with_token = |path: &str| TestRequest::get().uri(path).insert_header(("Token", &*token));
    for filled in [false, true] {
        if filled {
            fill(&service).await;
        }
        for path in ["/", "/feedback", "/team"] {
            answers.push(("get", path, service.get(path).await));
        }
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    }
    let code = service.code_again(user_id(1));
    answers.push(("post", "/auth", service.call(post_code(&code)).await));
    answers.push(("get", "/", service.call(get("/").insert_header(("Sent-Epoch", "1767268799.5"))).await));
    answers.push(("get", "/team", service.call(get("/team").insert_header(("If-None-Match", "*"))).await));

    // The caller is at fault.
    for path in ["/", "/feedback", "/team"] {
        answers.push(("get", path, service.call(get(path).set_payload(large())).await));
    }
    answers.push(("get", "/guilds", service.call(with_token("/guilds").set_payload(large())).await));
    answers.push(("get", "/guilds", service.get("/guilds").await));
    answers.push(("get", "/guilds", service.guilds("wrong").await));
    answers.push(("get", "/guilds", service.call(with_token("/guilds").append_header(("Token", "b"))).await));
    answers.push(("post", "/auth", service.call(post_code("code").set_payload(large())).await));
    answers.push(("post", "/auth", service.call(TestRequest::post().uri("/auth")).await));
    answers.push(("post", "/auth", service.call(post_code("wrong")).await));
    answers.push(("post", "/auth", service.call(post_code("a").append_header(("Idp-Code", "b"))).await));
    answers.push(("post", "/auth", service.call(post_code("a").insert_header(("Origin", "null"))).await));

    let scopeless = CodeTerms { scope: Some("identify".to_owned()), ..CodeTerms::default() };
    let scopeless = service.memory.identity.issue_code_for(user_id(1), scopeless);
    answers.push(("post", "/auth", service.call(post_code(&scopeless)).await));

    let held_up = used_up_by("203.0.113.9").await;
    let again = post_code("wrong").peer_addr(([203, 0, 113, 9], 5000).into());
    answers.push(("post", "/auth", held_up.call(again).await));

    // The provider is at fault.
    service.memory.clock.advance(Duration::from_secs(25 * 60 * 60));
    for kind in
        [IdentityErrorKind::Failed, IdentityErrorKind::TimedOut, IdentityErrorKind::Limited(Duration::ZERO)]
    {
        for call in [IdentityCall::Exchange, IdentityCall::Guilds] {
            service.memory.identity.fail_with(call, Some(kind));
        }
        answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));
        // A failed refresh is not tried again for a while.
        service.memory.clock.advance(Duration::from_secs(11));
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    }
    for call in [IdentityCall::Exchange, IdentityCall::Guilds] {
        service.memory.identity.fail_with(call, None);
    }

    // The user is at fault.
    service.use_cases.feed.records.put(Record::Blocked(user_id(1))).await.unwrap();
    answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
    answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));

    // The operator is at fault.
    answers.push(("post", "/auth", unconfigured().await.call(post_code("code")).await));

    // We are at fault.
    answers.push(("post", "/auth", overloaded().await));
    for fault in
        [Fault::Fails(StoreErrorKind::Unavailable), Fault::Fails(StoreErrorKind::Corrupt), Fault::Panics]
    {
        service.store.set(Some(fault));
        answers.push(("get", "/guilds", service.call(with_token("/guilds")).await));
        answers.push(("post", "/auth", service.call(post_code(&service.code_again(user_id(1)))).await));
    }
    let unloaded = Service::unloaded().await;
    for fault in [Fault::Fails(StoreErrorKind::Unavailable), Fault::Panics] {
        unloaded.store.set(Some(fault));
        answers.push(("get", "/feedback", unloaded.get("/feedback").await));
    }
    answers.push(("get", "/", unloaded.get("/").await));
    answers.push(("get", "/team", unloaded.get("/team").await));
    answers
}

async fn fill(service: &Service) {
    let feed = &service.use_cases.feed;
    feed.records.put(Record::Guild(a_guild(7))).await.unwrap();
    feed.records.put(Record::Guild(Guild { icon: None, ..a_guild(8) })).await.unwrap();
    feed.records.put(Record::Subscription(a_subscription(3, &[7]))).await.unwrap();
    for number in 0..7 {
        feed.records
            .put(Record::Feedback(a_feedback(&format!("entry-{number}"), 4 + number % 2)))
            .await
            .unwrap();
    }
    feed.records
        .write(Mutation::ReplaceTeam(Roster::new(vec![a_team_member(1, "Support", -1)]).unwrap()))
        .await
        .unwrap();
    feed.records.write(Mutation::Report(a_heartbeat("one", service.memory.clock.now()))).await.unwrap();
}
