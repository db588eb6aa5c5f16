//! What people see when something does not work: human words, a way on, and no loop.

use crate::browser::stage::{LARK, Stage};
use companion_dev_identity::{Fault, Route};
use serde_json::Value;

#[test]
fn a_sign_in_that_fails_is_explained_in_human_words() {
    let stage = Stage::new();
    let control = stage.platform.control();
    let page = stage.page();
    // A blocked user is told so, and not sent around.
    stage.feed("PUT", &format!("/bot/blocked/{LARK}"), &Value::Null);
    page.go(&stage.at("/sign-in"));
    page.follow("Day Lark");
    assert_eq!((page.status(), page.heading().as_str()), (403, "You cannot use this site"));

    for (fault, status, heading) in [
        (Fault::Closed, 502, "The chat platform does not answer"),
        (Fault::Limited { retry_after: 30.0, global: true }, 503, "The chat platform is busy"),
    ] {
        control.fail(Route::Token, fault);
        page.go(&stage.at("/sign-in"));
        page.follow("Night Owl");
        assert_eq!((page.status(), page.heading().as_str()), (status, heading), "{}", page.text());
        page.says("Try again in");
        assert_eq!(page.path(), "/callback", "it stays where it says so");
        control.clear_all();
    }
}

#[test]
fn someone_who_declines_and_someone_who_comes_twice_have_a_way_on() {
    let stage = Stage::new();
    let page = stage.page();
    page.go(&stage.at("/sign-in?return=/devices"));
    page.follow("Cancel");
    assert_eq!((page.status(), page.heading().as_str()), (403, "You are not signed in"));
    let used = page.url();
    page.go(&used);
    assert_eq!(page.heading(), "This sign-in is over");
    page.follow("Sign in again");
    page.follow("Night Owl");
    assert_eq!(page.path(), "/guilds");
}

#[test]
fn a_restart_in_the_middle_of_a_sign_in_is_not_noticed() {
    let mut stage = Stage::new();
    let reader = stage.signed_in("Night Owl");
    let page = stage.page();
    page.go(&stage.at("/sign-in?return=/devices"));
    stage.stop();
    stage.start();
    page.follow("Day Lark");
    assert_eq!((page.path(), page.heading().as_str()), ("/devices".to_owned(), "Devices"), "{}", page.text());
    reader.reload();
    reader.says("Night Owls");
}
