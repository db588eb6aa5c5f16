//! What changes something has to come from a page of this site.

use crate::browser::{Browser, Site, URL, form, html};

const FORMS: [&str; 4] = ["/sign-out", "/devices/end", "/devices/end-all", "/my-data/forget"];

#[actix_web::test]
async fn a_form_of_another_site_or_without_our_token_changes_nothing() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let token = browser.form_token().await;
    let stranger = Browser::of(&site);
    stranger.sign_in(2, vec![]).await;
    let of_another = stranger.form_token().await;
    for path in FORMS {
        let good = || form(path, &[("token", &token)]);
        for (why, request) in [
            ("another origin", good().insert_header(("Origin", "https://evil.example"))),
            ("no origin", good()),
            ("a hidden origin", good().insert_header(("Origin", "null"))),
            ("another scheme", good().insert_header(("Origin", "http://dashboard.example"))),
            ("no token", form(path, &[]).insert_header(("Origin", URL))),
            ("another's token", form(path, &[("token", &of_another)]).insert_header(("Origin", URL))),
        ] {
            let answer = browser.send(request).await;
            assert_eq!(answer.status, 403, "{path}, {why}");
            assert!(html(&answer).contains("Nothing was changed"));
        }
        browser.get(path).await;
    }
    assert_eq!(
        browser.get("/guilds").await.status,
        200,
        "still signed in, and a link has changed nothing either"
    );
}

#[actix_web::test]
async fn a_form_after_the_session_has_ended_says_so() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let token = browser.form_token().await;
    assert_eq!(browser.post("/devices/end-all", &[("token", &token)]).await.status, 303);
    for path in FORMS {
        let answer = browser.post(path, &[("token", &token)]).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(html(&answer).contains("href=\"/sign-in?return=/guilds\""));
    }
}

#[actix_web::test]
async fn a_form_that_is_too_large_is_refused() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let answer = browser.post("/sign-out", &[("token", &"x".repeat(1001))]).await;
    assert_eq!(answer.status, 413);
}

#[actix_web::test]
async fn signing_out_ends_the_session_and_goes_home() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    browser.sign_in(1, vec![]).await;
    let kept = browser.cookies.borrow().clone();
    let token = browser.form_token().await;
    let answer = browser.post("/sign-out", &[("token", &token)]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    assert!(browser.cookies.borrow().is_empty());
    *browser.cookies.borrow_mut() = kept;
    assert_eq!(browser.get("/guilds").await.status, 401, "its token opens nothing any more");
}
