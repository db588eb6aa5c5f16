//! Sign-in through the platform.

use crate::browser::{Browser, Site, URL, html, signed_in};
use companion_domain::port::{IdentityErrorKind, Record};
use companion_storage_memory::{CodeTerms, IdentityCall};
use companion_testkit::world::{a_user, user_id};
use std::time::Duration;

const SESSION: &str = "__Host-companion";
const PENDING: &str = "__Host-companion-sign-in";

#[actix_web::test]
async fn signs_in_with_state_and_pkce() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    let browser = Browser::of(&site);
    let parameters = browser.to_platform("/sign-in").await;
    assert_eq!(parameters["response_type"], "code");
    assert_eq!(parameters["client_id"], "42");
    assert_eq!(parameters["redirect_uri"], format!("{URL}/callback"));
    assert_eq!(parameters["scope"], "identify guilds");
    assert_eq!(
        (parameters["code_challenge_method"].as_str(), parameters["code_challenge"].len()),
        ("S256", 43)
    );
    assert!(parameters["state"].len() >= 32);

    let answer = browser.finish_sign_in(&parameters["state"], 1).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/guilds"), "{}", html(&answer));
    let set: Vec<_> = answer.headers.get_all("set-cookie").map(|set| set.to_str().unwrap()).collect();
    let session = set.iter().find(|set| set.starts_with("__Host-companion=cmp_")).unwrap();
    assert!(session.ends_with("; Path=/; Max-Age=1000; HttpOnly; SameSite=Lax; Secure"), "{session}");
    assert!(!browser.cookies.borrow().contains_key(PENDING), "the pending sign-in is removed");
    assert_eq!(browser.get("/guilds").await.status, 200);
}

#[actix_web::test]
async fn sign_in_returns_only_to_paths_of_this_site() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    for (asked, reached) in [("/devices", "/devices"), ("/%5Cevil.example", "/guilds")] {
        let browser = Browser::of(&site);
        let code = format!("code={}", browser.code(1));
        let answer = browser.call_back(&format!("/sign-in?return={asked}"), &code).await;
        assert_eq!(answer.header("location"), reached, "{asked}");
        let again = browser.get(&format!("/sign-in?return={asked}")).await;
        assert_eq!((again.status, again.header("location")), (303, reached), "signed in already");
    }
    let guest = Browser::of(&site).get("/guilds/7").await;
    assert_eq!((guest.status, guest.header("location")), (303, "/sign-in?return=/guilds/7"));
}

#[actix_web::test]
async fn refuses_a_callback_of_another_browser() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    let (attacker, victim) = (Browser::of(&site), Browser::of(&site));
    let parameters = attacker.to_platform("/sign-in").await;
    let answer = victim.finish_sign_in(&parameters["state"], 1).await;
    assert_eq!(answer.status, 400);
    assert!(html(&answer).contains(&format!("href=\"{URL}/sign-in\"")), "{}", html(&answer));
    assert_eq!(site.memory.identity.calls(IdentityCall::Exchange), 0, "the code is not sent");
    let own = victim.to_platform("/sign-in").await;
    assert_ne!(own["state"], parameters["state"]);
    assert_ne!(own["code_challenge"], parameters["code_challenge"]);
    assert_eq!(victim.finish_sign_in(&parameters["state"], 1).await.status, 400, "state of another browser");
    assert!(!victim.cookies.borrow().contains_key(SESSION));
}

#[actix_web::test]
async fn declining_shows_that_nothing_was_shared() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    let answer = browser.call_back("/sign-in?return=/team", "error=access_denied").await;
    assert_eq!(answer.status, 403);
    let page = html(&answer);
    assert!(page.contains("nothing was shared") && page.contains("href=\"/sign-in?return=/team\""), "{page}");
    assert!(browser.cookies.borrow().is_empty());
    assert_eq!(browser.call_back("/sign-in", "error=server_error").await.status, 502);
}

#[actix_web::test]
async fn handles_a_reloaded_callback() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    let browser = Browser::of(&site);
    let parameters = browser.to_platform("/sign-in").await;
    let back = format!("/callback?code={}&state={}", browser.code(1), parameters["state"]);
    let pending = browser.cookies.borrow()[PENDING].clone();
    assert_eq!(browser.get(&back).await.status, 303);
    let again = browser.get(&back).await;
    assert_eq!((again.status, again.header("location")), (303, "/guilds"), "signed in already");

    let other = Browser::of(&site);
    other.cookies.borrow_mut().insert(PENDING.to_owned(), pending);
    let spent = other.get(&back).await;
    assert_eq!(spent.status, 401);
    let page = html(&spent);
    assert!(page.contains("This sign-in is over") && page.contains("href=\"/sign-in\""), "{page}");
    assert_eq!(site.memory.identity.calls(IdentityCall::Exchange), 1);
}

#[actix_web::test]
async fn explains_refused_codes() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    let browser = Browser::of(&site);
    let code = browser.code(1);
    site.memory.clock.advance(Duration::from_secs(3600));
    let answer = browser.call_back("/sign-in", &format!("code={code}")).await;
    assert_eq!(answer.status, 401);
    assert!(html(&answer).contains("took too long"));
    assert_eq!(browser.call_back("/sign-in", "").await.status, 401, "no code");
    let terms = CodeTerms { scope: Some("identify".to_owned()), ..CodeTerms::default() };
    let narrow = site.memory.identity.issue_code_for(user_id(1), terms);
    let answer = browser.call_back("/sign-in", &format!("code={narrow}")).await;
    assert_eq!(answer.status, 401);
    assert!(html(&answer).contains("allow both"));
}

#[actix_web::test]
async fn a_blocked_user_gets_a_page_without_a_redirect_loop() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    let browser = Browser::signed_in(&site, 1, vec![]).await;
    site.put(Record::Blocked(user_id(1))).await;
    let listed = browser.get("/guilds").await;
    assert_eq!(listed.status, 403);
    assert!(html(&listed).contains("was blocked"));

    let again = Browser::of(&site);
    let refused = again.try_sign_in(1).await;
    assert_eq!((refused.status, refused.header("location")), (303, "/blocked"));
    let refused = again.get("/blocked").await;
    assert_eq!(refused.status, 403, "also when it is loaded again");
    let page = html(&refused);
    assert!(page.contains("was blocked"), "{page}");
    assert!(page.contains("href=\"https://platform.example/support\""), "{page}");
    assert!(!again.cookies.borrow().contains_key(SESSION));
}

#[actix_web::test]
async fn explains_platform_failures_with_retry_after() {
    let site = Site::new().await;
    site.memory.identity.put_user(a_user(1), vec![]);
    for (failure, status, words) in [
        (IdentityErrorKind::Limited(Duration::from_secs(90)), 503, "Try again in 1 minute."),
        (IdentityErrorKind::Unreachable, 502, "could not reach the platform"),
        (IdentityErrorKind::TimedOut, 504, "could not reach the platform"),
    ] {
        site.memory.identity.fail_with(IdentityCall::Exchange, Some(failure));
        let answer = Browser::of(&site).try_sign_in(1).await;
        assert_eq!(answer.status, status, "{failure:?}");
        assert!(html(&answer).contains(words), "{}", html(&answer));
        if status == 503 {
            assert_eq!(answer.header("retry-after"), "90");
        }
    }
}

#[actix_web::test]
async fn without_an_application_sign_in_does_not_redirect() {
    let site = Site::with(|settings| settings.platform = None).await;
    let answer = site.get("/sign-in").await;
    assert_eq!(answer.status, 503);
    assert!(html(&answer).contains("Sign-in is not configured"));
}

#[actix_web::test]
async fn an_ended_session_leads_to_sign_in_and_back() {
    let (site, browser) = signed_in(vec![]).await;
    site.use_cases.sessions.revoke_user(user_id(1)).await.unwrap();
    let answer = browser.get("/devices").await;
    assert_eq!(answer.status, 401);
    let page = html(&answer);
    assert!(
        page.contains("You are signed out") && page.contains("href=\"/sign-in?return=/devices\""),
        "{page}"
    );
    assert!(browser.cookies.borrow().is_empty(), "the cookie is removed");
    browser.cookies.borrow_mut().insert(SESSION.to_owned(), "made-up".to_owned());
    assert_eq!(browser.get("/guilds").await.status, 401);
    assert_eq!(browser.get("/").await.status, 200, "public pages stay available");
}

#[actix_web::test]
async fn shares_the_refusal_limit_with_the_public_api() {
    let site = Site::new().await;
    let address = "203.0.113.9:4000".parse().unwrap();
    let mut codes = Vec::new();
    for attempt in 0..4 {
        let browser = Browser::of(&site);
        let parameters = browser.to_platform("/sign-in").await;
        let path = format!("/callback?code=wrong{attempt}&state={}", parameters["state"]);
        let request = actix_web::test::TestRequest::get().uri(&path).peer_addr(address);
        codes.push(browser.send(request).await.status);
    }
    assert_eq!(codes, [401, 401, 401, 429]);
}
