//! Pages on every screen: nothing scrolls sideways, axe has nothing to say, and pictures of all of them for people to look at.

use crate::browser::{
    axe::Axe,
    page::{Page, Screen},
    stage::{LARK, OWL, Stage, guild, guild_id, membership},
};
use serde_json::{Value, json};

/// As long as names may be, without a place to break them, and in letters of other widths.
const LONG: &str =
    "Grand-United-Confederation-of-Roleplaying-Lighthouses-and-Harbours-of-the-North-Sea-WWWWWWWWWWWW";

fn fits(page: &Page, screen: Screen, what: &str) {
    let wide = |of: &str| page.evaluate(&format!("document.documentElement.{of}")).as_u64().unwrap();
    let (page, screen) = (wide("scrollWidth"), u64::from(screen.size().0));
    assert_eq!(wide("clientWidth"), screen, "{what} is laid out for another screen");
    assert!(page <= screen, "{what} scrolls sideways: {page} on {screen}");
}

/// Loads each page once. It is laid out and coloured anew for each screen, and axe examines each layout and each scheme once.
fn look(stage: &Stage, page: &Page, pages: &[(&str, &str)], report: &str) {
    let mut axe = Axe::on(page);
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
            if suffix != "light" {
                axe.examine(page, path, &format!("{screen:?}, {scheme}"));
            }
        }
    }
    axe.finish(report);
}

/// These tests need axe.
mod axe {
    use super::*;

    #[test]
    fn home_and_team_fit_every_screen() {
        let stage = Stage::new();
        look(&stage, &stage.page(), &[("home", "/"), ("team", "/team")], "axe-home.md");
    }

    #[test]
    fn status_and_missing_pages_fit_every_screen() {
        let stage = Stage::new();
        look(&stage, &stage.page(), &[("status", "/status"), ("not-found", "/nowhere")], "axe-status.md");
    }

    #[test]
    fn guilds_and_forgetting_fit_every_screen() {
        let stage = Stage::new();
        let pages =
            [("guilds", "/guilds"), ("guild", "/guilds/190000000000000500"), ("forget", "/my-data/forget")];
        look(&stage, &stage.signed_in("Night Owl"), &pages, "axe-guilds.md");
    }

    #[test]
    fn devices_and_data_fit_every_screen() {
        let stage = Stage::new();
        let page = stage.signed_in("Night Owl");
        // Loses the session without ending it, so that there are two devices.
        page.call("Network.clearBrowserCookies", &json!({}));
        stage.sign_in(&page, "Night Owl");
        look(&stage, &page, &[("my-data", "/my-data"), ("devices", "/devices")], "axe-devices.md");
        page.says("End this session");
    }

    #[test]
    fn pages_without_guilds_fit_every_screen() {
        let stage = Stage::new();
        stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(3)), &Value::Null);
        let lark = stage.signed_in("Day Lark");
        look(&stage, &lark, &[("home-signed-in", "/"), ("guilds-empty", "/guilds")], "axe-no-guilds.md");
        // A page that is not live stays where it is.
        lark.go(&stage.at("/my-data"));
        stage.feed("DELETE", &format!("/users/{LARK}"), &Value::Null);
        lark.go(&stage.at("/guilds"));
        lark.picture("signed-out-phone");
    }
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
