//! Pages on every screen: nothing scrolls sideways, and pictures of all of them for people to look at.

use crate::browser::{
    page::{Page, Screen},
    stage::{LARK, OWL, Stage, guild_id, membership},
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

fn fits(page: &Page, what: &str) {
    let (wide, screen) = (
        page.evaluate("document.documentElement.scrollWidth").as_u64().unwrap(),
        page.evaluate("document.documentElement.clientWidth").as_u64().unwrap(),
    );
    assert!(wide <= screen, "{what} scrolls sideways: {wide} on {screen}");
}

fn look(stage: &Stage, page: &Page, pages: &[(&str, &str)]) {
    for (screen, scheme, suffix) in [
        (Screen::Desktop, "light", "light"),
        (Screen::Desktop, "dark", "dark"),
        (Screen::Phone, "light", "phone"),
    ] {
        page.on(screen);
        page.prefer(scheme);
        for (name, path) in pages {
            page.go(&stage.at(path));
            fits(page, path);
            page.picture(&format!("{name}-{suffix}"));
        }
    }
}

#[test]
fn every_page_fits_every_screen_in_light_and_dark() {
    let stage = Stage::new();
    let guest = stage.page();
    look(&stage, &guest, &FOR_EVERYONE);
    let _phone = stage.signed_in("Night Owl");
    look(&stage, &stage.signed_in("Night Owl"), &SIGNED_IN);
    // Two more that are seen once: someone without a guild, and a session that is over.
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
    for number in 10..210 {
        stage.join(number, &name(number), OWL);
    }
    let page = stage.signed_in("Night Owl");
    assert_eq!(page.evaluate("document.querySelectorAll('.card').length"), 200);
    page.picture("guilds-200-light");
    page.on(Screen::Phone);
    page.reload();
    fits(&page, "200 guilds");
    page.picture("guilds-200-phone");
    page.follow(LONG);
    fits(&page, "a guild with a long name");
    page.picture("guild-long-name-phone");
}
