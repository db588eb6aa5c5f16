//! Pages on every screen: nothing scrolls sideways, and pictures of all of them for people to look at.

use crate::browser::{
    page::{Page, Screen},
    stage::{LARK, OWL, Stage, guild, guild_id, membership},
};

const FOR_EVERYONE: [(&str, &str); 4] =
    [("home", "/"), ("team", "/team"), ("status", "/status"), ("not-found", "/nowhere")];
const SIGNED_IN: [(&str, &str); 6] = [
    ("home-signed-in", "/"),
    ("guilds", "/guilds"),
    ("guild", "/guilds/190000000000000500"),
    ("devices", "/devices"),
    ("my-data", "/my-data"),
    ("forget", "/my-data/forget"),
];
/// As long as names may be, without a place to break them, and in letters of other widths.
const LONG: &str =
    "Grand-United-Confederation-of-Roleplaying-Lighthouses-and-Harbours-of-the-North-Sea-WWWWWWWWWWWW";

fn fits(page: &Page, screen: Screen, what: &str) {
    let wide = |of: &str| page.evaluate(&format!("document.documentElement.{of}")).as_u64().unwrap();
    let (page, screen) = (wide("scrollWidth"), u64::from(screen.size().0));
    assert_eq!(wide("clientWidth"), screen, "{what} is laid out for another screen");
    assert!(page <= screen, "{what} scrolls sideways: {page} on {screen}");
}

/// Loads each page once. It is laid out anew for each screen.
fn look(stage: &Stage, page: &Page, pages: &[(&str, &str)]) {
    for (name, path) in pages {
        page.go(&stage.at(path));
        for (screen, scheme, suffix) in [
            (Screen::Phone, "light", "phone"),
            (Screen::Desktop, "dark", "dark"),
            (Screen::Desktop, "light", "light"),
        ] {
            page.on(screen);
            page.prefer(scheme);
            fits(page, screen, path);
            page.picture(&format!("{name}-{suffix}"));
        }
    }
}

#[test]
fn pages_for_everyone_fit_every_screen_in_light_and_dark() {
    let stage = Stage::new();
    look(&stage, &stage.page(), &FOR_EVERYONE);
}

#[test]
fn pages_of_a_user_fit_every_screen_in_light_and_dark() {
    let stage = Stage::new();
    let _phone = stage.signed_in("Night Owl");
    look(&stage, &stage.signed_in("Night Owl"), &SIGNED_IN);
}

#[test]
fn pages_of_a_user_without_guilds_fit_every_screen() {
    let stage = Stage::new();
    stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(3)), &serde_json::Value::Null);
    let lark = stage.signed_in("Day Lark");
    look(&stage, &lark, &[("guilds-empty", "/guilds")]);
    stage.feed("DELETE", &format!("/users/{LARK}"), &serde_json::Value::Null);
    lark.reload();
    lark.picture("signed-out-phone");
}

#[test]
fn two_hundred_guilds_with_the_longest_names_fit_a_phone() {
    let stage = Stage::new();
    let name =
        |number: u64| if number.is_multiple_of(3) { LONG.to_owned() } else { format!("Guild {number}") };
    let guilds = (10..210).map(|number| membership(number, &name(number), true)).collect();
    stage.platform.control().set_guilds(OWL, guilds);
    stage.sync((10..210).map(|number| guild(number, &name(number), OWL)));
    let page = stage.page();
    page.on(Screen::Phone);
    stage.sign_in(&page, "Night Owl");
    assert_eq!(page.evaluate("document.querySelectorAll('.card').length"), 200);
    fits(&page, Screen::Phone, "200 guilds");
    page.picture("guilds-200-phone");
    page.follow(LONG);
    fits(&page, Screen::Phone, "a guild with a long name");
    page.picture("guild-long-name-phone");
}
