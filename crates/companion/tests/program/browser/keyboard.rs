//! With a keyboard and nothing else.

use crate::browser::{page::Page, stage::Stage};
use serde_json::Value;

/// What has the focus: its text, and whether one sees that it has.
fn focused(page: &Page) -> (String, bool) {
    let found = page.evaluate(
        "(() => { const one = document.activeElement; const style = getComputedStyle(one);
         return [one.textContent.trim(), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2]; })()",
    );
    let Value::Array(found) = found else { panic!("{found}") };
    (found[0].as_str().unwrap().to_owned(), found[1].as_bool().unwrap())
}

/// Goes on to what has this text, past whatever comes before; all of it shows that it has the focus.
fn tab_to(page: &Page, text: &str) -> Vec<String> {
    let mut passed = Vec::new();
    for _ in 0..40 {
        page.press("Tab");
        let (found, seen) = focused(page);
        assert!(seen, "nobody sees that {found:?} has the focus");
        if found == text {
            return passed;
        }
        passed.push(found);
    }
    panic!("{text:?} is not among {passed:?}");
}

#[test]
fn everything_is_reached_in_reading_order_and_seen_to_be() {
    let stage = Stage::new();
    let page = stage.page();
    page.go(&stage.at("/"));
    let passed = tab_to(&page, "Sign in to see your guilds");
    assert_eq!(passed[..5], ["Skip to the content", "Night Watch", "Home", "Team", "Status"]);
    page.led(|page| page.press("Enter"));
    assert!(page.url().starts_with(&stage.platform_origin()));
    page.follow("Night Owl");

    page.press("Tab");
    assert_eq!(focused(&page).0, "Skip to the content");
    page.press("Enter");
    page.until("document.activeElement.id === 'content'");
    page.press("Tab");
    assert_eq!(focused(&page).0, "Harbour City Roleplay", "past the navigation");
    page.led(|page| page.press("Enter"));
    assert_eq!(page.heading(), "Harbour City Roleplay");
    tab_to(&page, "Sign out");
    page.led(|page| page.press("Enter"));
    assert_eq!(page.path(), "/");
    page.says("Sign in to see your guilds");
}
