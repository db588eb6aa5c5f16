//! The dashboard in headless Chromium, with the program itself, a platform on another site, and a database file.

mod chromium;
mod page;
mod settings;
mod stage;

use self::{
    chromium::Chromium,
    page::{Axe, Page, Screen, write},
    stage::{LARK, OWL, Stage, guild, guild_id, membership},
};
use crate::program::Program;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

/// Visits home, sign-in, guilds, one guild, devices, my data, and signs out.
fn whole_way(stage: &Stage, page: &Page) {
    page.go(&stage.at("/"));
    assert_eq!(page.heading(), "Night Watch");
    page.says("Shard 2 is slow");
    page.says("Set up in ten minutes");
    page.follow("Team");
    page.says("Bot Developer");
    page.follow("Status");
    page.says("north");
    page.says("slow");
    page.follow("Home");
    page.follow("Sign in to see your guilds");
    assert!(page.url().starts_with(&stage.platform_origin()), "{}", page.url());
    page.follow("Night Owl");
    assert_eq!(page.url(), stage.at("/guilds"), "{}", page.text());
    page.says("Night Owls");
    page.says("Harbour City Roleplay");
    page.follow("Night Owls");
    assert_eq!(page.heading(), "Night Owls");
    page.says("You own this guild.");
    assert_eq!(
        page.evaluate("document.querySelectorAll('.rights > li').length"),
        11,
        "without the bot's staff"
    );
    page.follow("Devices");
    page.says("This device");
    page.follow("My data");
    page.says("Devices that are signed in");
    page.follow("Forget me");
    page.says("premium");
    page.follow("No, keep everything");
    assert_eq!(page.path(), "/my-data");
    page.follow("Sign out");
    assert_eq!(page.path(), "/");
    page.go(&stage.at("/guilds"));
    assert!(page.url().starts_with(&stage.platform_origin()), "signed out: {}", page.url());
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
fn leads_from_home_to_the_guilds_and_through_sign_out() {
    let stage = Stage::new();
    whole_way(&stage, &stage.page());
    let page = stage.page();
    page.without_scripts();
    page.prefer("light");
    whole_way(&stage, &page);
    choose_a_theme(&stage, &page);
}

/// Chooses a theme on a page that prefers light colours and has no scripts.
fn choose_a_theme(stage: &Stage, page: &Page) {
    page.go(&stage.at("/team"));
    let ground = || page.evaluate("getComputedStyle(document.body).backgroundColor");
    let light = ground();
    page.follow("Dark");
    assert_eq!(page.path(), "/team");
    let dark = ground();
    assert_ne!(dark, light);
    page.go(&stage.at("/nowhere"));
    assert_eq!(ground(), dark, "on every page");
    page.follow("System");
    assert_eq!(ground(), light);
}

/// Returns the text of the focused element, and whether its focus is visible. The ring of a card is around all of it.
fn focused(page: &Page) -> (String, bool) {
    let found = page.evaluate(
        "(() => { const one = document.activeElement;
         const has_ring = ({outlineStyle, outlineWidth}) => outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
         const styles = [getComputedStyle(one), getComputedStyle(one, '::after')];
         return [one.textContent.trim(), styles.some(has_ring)]; })()",
    );
    let Value::Array(found) = found else { panic!("{found}") };
    (found[0].as_str().unwrap().to_owned(), found[1].as_bool().unwrap())
}

/// Presses Tab until the element with this text has the focus, and returns the texts passed. Every focus must be
/// visible.
fn tab_to(page: &Page, text: &str) -> Vec<String> {
    let mut passed = Vec::new();
    for _ in 0..40 {
        page.press("Tab");
        let (found, seen) = focused(page);
        assert!(seen, "the focus of {found:?} is not visible");
        if found == text {
            return passed;
        }
        passed.push(found);
    }
    panic!("{text:?} is not among {passed:?}");
}

#[test]
fn keyboard_focus_is_visible_and_in_reading_order() {
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
    assert_eq!(tab_to(&page, "Harbour City Roleplay"), ["Invite Night Watch"], "past the navigation");
    page.led(|page| page.press("Enter"));
    assert_eq!(page.heading(), "Harbour City Roleplay");
    tab_to(&page, "Night Owl");
    page.press("Enter");
    assert_eq!(tab_to(&page, "Sign out"), ["Devices", "My data"], "the menu is open");
    page.press("Escape");
    assert_eq!(focused(&page).0, "Night Owl", "Escape closes the menu");
    page.press("Enter");
    tab_to(&page, "Sign out");
    page.led(|page| page.press("Enter"));
    assert_eq!(page.path(), "/");
    page.says("Sign in to see your guilds");
}

/// Marks the document, so that a reload is detected by the missing mark.
fn mark(page: &Page) {
    page.evaluate("window.marked = true");
    page.until_it_listens();
}

/// Whether the guild that the bot joins is among those with the bot.
const HAS_JOINED: &str =
    "[...document.querySelectorAll('.card')].some(card => card.textContent.includes('Late Arrivals'))";

fn is_the_same_document(page: &Page) -> bool {
    page.evaluate("window.marked === true") == true
}

#[test]
fn open_pages_show_changes_without_a_reload() {
    let stage = Stage::new();
    reports_appear(&stage);
    let page = stage.signed_in("Night Owl");
    a_joined_guild_appears_within_a_second(&stage, &page);
    permissions_stay_unfolded(&stage, &page);

    page.go(&stage.at(&format!("/guilds/{}", guild_id(0))));
    page.until_it_listens();
    stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(0)), &Value::Null);
    page.until_it_says("Night Watch is no longer in this guild");
    page.says("Invite Night Watch again");
    page.follow("Your guilds");
    assert_eq!(page.path(), "/guilds");
}

fn a_joined_guild_appears_within_a_second(stage: &Stage, page: &Page) {
    mark(page);
    page.evaluate("document.querySelector('.card h2 a').focus()");
    let focused = page.evaluate("document.activeElement.href");
    page.says("You manage one more guild");
    assert_eq!(page.evaluate(HAS_JOINED), false);
    let joined = Instant::now();
    stage.join(2, "Late Arrivals", OWL);
    page.until(HAS_JOINED);
    let took = joined.elapsed();
    page.says("Live");
    page.until("document.querySelector('.card.changed')?.textContent.includes('Late Arrivals')");
    assert!(took < Duration::from_secs(1), "{took:?}");
    println!("a guild appeared after {} ms", took.as_millis());
    assert!(is_the_same_document(page), "without a reload");
    assert_eq!(page.evaluate("document.activeElement.href"), focused, "the focus stays");

    stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(2)), &Value::Null);
    page.until(&format!("!{HAS_JOINED}"));
    assert!(is_the_same_document(page));
    assert_eq!(page.evaluate("document.activeElement.href"), focused);
    assert_eq!(page.complaints(), [""; 0]);
}

/// The status and the home page follow the reports of the bot.
fn reports_appear(stage: &Stage) {
    let (status, home) = (stage.page(), stage.page());
    status.go(&stage.at("/status"));
    home.go(&stage.at("/"));
    for page in [&status, &home] {
        mark(page);
    }
    let wall = home.evaluate("document.querySelector('.wall').innerText");
    stage.report("west", &[(4, 77)]);
    status.until_it_says("77 ms");
    status.until_it_says("west");
    stage.report("east", &[(2, 40), (3, 52)]);
    home.until_it_says("All 5 shards are online");
    assert_eq!(
        home.evaluate("document.querySelector('.wall').innerText"),
        wall,
        "opinions stay where they are"
    );
    for page in [&status, &home] {
        assert!(is_the_same_document(page));
        assert_eq!(page.complaints(), [""; 0]);
    }
}

/// Permissions unfold by keyboard, and stay unfolded when they change.
fn permissions_stay_unfolded(stage: &Stage, page: &Page) {
    page.go(&stage.at(&format!("/guilds/{}", guild_id(1))));
    mark(page);
    let shown = |permission: &str| {
        let row = "[...document.querySelectorAll('.rights > li')].find(row => row.querySelector('code').textContent ===";
        page.evaluate(&format!("{row} '{permission}').checkVisibility()"))
    };
    assert_eq!((shown("MOD"), shown("SERVICE_PLUS_GUILD")), (json!(true), json!(false)));
    let more = "3 more that you do not have here";
    tab_to(page, more);
    page.press("Enter");
    page.until("document.querySelector('details.more').open");
    assert_eq!(shown("SERVICE_PLUS_GUILD"), true);
    page.says("Needs a subscription that covers this guild.");
    assert!(!page.text().contains("Bot staff"), "{}", page.text());
    stage.feed("DELETE", &format!("/bot/plus/{OWL}"), &Value::Null);
    page.until_it_says("4 more that you do not have here");
    assert_eq!(shown("SERVICE_PLUS_MEMBER"), true, "still unfolded");
    assert!(is_the_same_document(page));
}

#[test]
fn open_pages_and_sign_ins_survive_a_restart() {
    let mut stage = Stage::new();
    let (reader, page) = (stage.signed_in("Night Owl"), stage.page());
    reader.until_it_listens();
    mark(&reader);
    page.go(&stage.at("/sign-in?return=/devices"));
    let stopping = Instant::now();
    stage.stop();
    reader.until_it_says("Reconnecting");
    let took = stopping.elapsed();
    assert!(took < Duration::from_secs(5), "an open page delays the restart: {took:?}");
    stage.start();
    stage.join(2, "Late Arrivals", OWL);
    reader.until(HAS_JOINED);
    reader.until("document.getElementById('liveness').textContent === 'Live'");
    assert!(is_the_same_document(&reader));
    page.follow("Day Lark");
    assert_eq!((page.path(), page.heading().as_str()), ("/devices".to_owned(), "Devices"), "{}", page.text());
}

#[test]
fn a_session_ended_elsewhere_redirects_to_sign_in() {
    let stage = Stage::new();
    let (here, elsewhere) = (stage.signed_in("Night Owl"), stage.signed_in("Night Owl"));
    mark(&elsewhere);
    here.go(&stage.at("/devices"));
    here.says("Chrome on Linux");
    here.follow("End this session");
    here.says("Chrome on Linux was signed out.");
    elsewhere.until_it_says("You are signed out");
    elsewhere.follow("Sign in again");
    elsewhere.follow("Night Owl");
    assert_eq!(elsewhere.path(), "/guilds");
}

#[test]
fn headers_and_tables_break_no_word() {
    let stage = Stage::new();
    let page = stage.signed_in("Night Owl");
    for path in ["/status", "/my-data"] {
        page.go(&stage.at(path));
        for width in [600, 640, 768, 900, 1280] {
            let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
            page.call("Emulation.setDeviceMetricsOverride", &size);
            // Text of one line has one rectangle.
            let broken = page.evaluate(
                "[...document.querySelectorAll('.top nav a, .top button, thead th')].filter(one => {
                    const range = document.createRange(); range.selectNodeContents(one);
                    return new Set([...range.getClientRects()].map(line => Math.round(line.bottom / 12))).size > 1; })
                 .map(one => one.textContent)",
            );
            assert_eq!(broken, json!([]), "{path} at {width}");
            let height = page.evaluate("document.querySelector('.top').offsetHeight").as_u64().unwrap();
            assert!(height <= 100, "the header of {path} has {height} px at {width}");
            assert_eq!(
                page.evaluate("document.documentElement.scrollWidth"),
                width,
                "{path} scrolls at {width}"
            );
        }
    }
}

/// Pages must stay light: no console messages, no foreign requests, no blocking resources.
#[test]
fn pages_are_light_and_load_no_foreign_resources() {
    const PAGES: [&str; 6] = ["/", "/team", "/status", "/guilds", "/devices", "/my-data"];
    let stage = Stage::new();
    let signed_in = stage.signed_in("Night Owl");
    let mut facts = String::from(
        "| page | requests | bytes | from elsewhere | blocking script | first paint |\n|---|---|---|---|---|---|\n",
    );
    for path in PAGES {
        let page = signed_in.another();
        page.call("Network.setCacheDisabled", &json!({"cacheDisabled": true}));
        page.go(&stage.at(path));
        page.until("performance.getEntriesByName('first-contentful-paint').length");
        assert_eq!(page.complaints(), [""; 0], "{path}");
        let pictures = stage.platform_origin() + "/cdn/";
        let elsewhere: Vec<_> =
            page.asked().into_iter().filter(|url| !url.starts_with(&stage.site)).collect();
        assert!(elsewhere.iter().all(|url| url.starts_with(&pictures)), "{elsewhere:?}");
        let blocking =
            page.evaluate("[...document.scripts].filter(one => !one.defer && !one.async || !one.src).length");
        assert_eq!(blocking, 0, "{path}");
        let paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
        let (requests, bytes) = page.weight();
        assert!(bytes < 30_000, "{path} has {bytes} bytes");
        let _ = writeln!(
            facts,
            "| `{path}` | {requests} | {bytes} | {} pictures | none | {:.0} ms |",
            elsewhere.len(),
            paint.as_f64().unwrap()
        );
    }
    write("facts.md", facts.as_bytes());
    println!("{facts}");
}

#[test]
fn the_reference_describes_every_operation() {
    let stage = Stage::new();
    let page = stage.page();
    page.go(&format!("http://{}/docs", stage.management));
    page.until("document.querySelector('article')");
    let described = page.evaluate("[...document.querySelectorAll('article')].map(one => one.id)");
    let described = described.as_array().unwrap();
    let document: Value = serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations: Vec<_> = paths
        .flat_map(|path| path.as_object().unwrap().values())
        .filter_map(|it| it.get("operationId"))
        .collect();
    assert!(!operations.is_empty());
    for operation in operations {
        assert!(described.contains(operation), "{operation}");
    }
    assert_eq!(page.complaints(), [""; 0]);
}

/// As long as names may be, without break opportunities, and with wide letters.
const LONG: &str =
    "Grand-United-Confederation-of-Roleplaying-Lighthouses-and-Harbours-of-the-North-Sea-WWWWWWWWWWWW";

fn fits(page: &Page, screen: Screen, what: &str) {
    let wide = |of: &str| page.evaluate(&format!("document.documentElement.{of}")).as_u64().unwrap();
    let (page, screen) = (wide("scrollWidth"), u64::from(screen.size().0));
    assert_eq!(wide("clientWidth"), screen, "{what} is laid out for another screen");
    assert!(page <= screen, "{what} scrolls sideways: {page} on {screen}");
}

/// Loads each page once, and examines it.
fn look(stage: &Stage, page: &Page, pages: &[(&str, &str)]) {
    let mut axe = Axe::on(page);
    for (name, path) in pages {
        page.go(&stage.at(path));
        on_all_screens(page, name, Some(&mut axe));
    }
    axe.finish();
}

/// Lays a page out for each screen, and asserts that it fits. Axe examines it on a phone and, with dark colours, on a
/// desktop.
fn on_all_screens(page: &Page, name: &str, mut axe: Option<&mut Axe>) {
    for (screen, scheme, suffix) in [
        (Screen::Phone, "light", "phone"),
        (Screen::Tablet, "light", "tablet"),
        (Screen::Desktop, "dark", "desktop"),
    ] {
        page.on(screen);
        page.prefer(scheme);
        fits(page, screen, name);
        page.picture(&format!("{name}-{suffix}"));
        if let (Some(axe), "phone" | "desktop") = (&mut axe, suffix) {
            axe.examine(page, name, &format!("{screen:?}, {scheme}"));
        }
    }
}

/// Pages on every screen: no horizontal scrolling, no violation, and screenshots for people to look at.
mod axe {
    use super::*;

    #[test]
    fn public_pages_fit_all_screens() {
        let stage = Stage::new();
        let pages = [("home", "/"), ("team", "/team"), ("status", "/status"), ("not-found", "/nowhere")];
        look(&stage, &stage.page(), &pages);
    }

    #[test]
    fn a_status_with_very_many_shards_fits_all_screens() {
        let stage = Stage::new();
        for cluster in ["north", "east"] {
            stage.feed("DELETE", &format!("/bot/clusters/{cluster}"), &Value::Null);
        }
        let notice =
            json!({"kind": "incident", "title": LONG, "text": "We know.\nWe are on it.", "from": 100});
        stage.feed("PUT", "/bot/notices/incident", &notice);
        let page = stage.page();
        let latency = |id: u32| if id % 16 == 4 { 1900 } else { 40 + id % 7 };
        let report =
            |shards: u32| stage.report("all", &(0..shards).map(|id| (id, latency(id))).collect::<Vec<_>>());
        report(1);
        look(&stage, &page, &[("status-1", "/status")]);
        // More shards repeat the same elements, which axe examines slowly.
        report(256);
        page.go(&stage.at("/status"));
        on_all_screens(&page, "status-256", None);
        page.says("16 of 256 shards are slow");
    }

    #[test]
    fn guilds_devices_and_data_fit_all_screens() {
        let stage = Stage::new();
        let page = stage.signed_in("Night Owl");
        // Loses the session without ending it, so that there are two devices.
        page.call("Network.clearBrowserCookies", &json!({}));
        stage.sign_in(&page, "Night Owl");
        let guild = format!("/guilds/{}", guild_id(0));
        let pages =
            [("guilds", "/guilds"), ("guild", &guild), ("my-data", "/my-data"), ("devices", "/devices")];
        look(&stage, &page, &pages);
        page.says("End this session");
    }

    #[test]
    fn pages_without_guilds_fit_all_screens() {
        let stage = Stage::new();
        stage.feed("DELETE", &format!("/bot/guilds/{}", guild_id(3)), &Value::Null);
        let lark = stage.signed_in("Day Lark");
        let pages = [("home-signed-in", "/"), ("guilds-empty", "/guilds"), ("forget", "/my-data/forget")];
        look(&stage, &lark, &pages);
        // A page without an event stream stays as it is.
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
    fits(&page, Screen::Phone, "200 guilds");
    page.picture("guilds-200-phone");
    let height = page.evaluate("document.documentElement.scrollHeight").as_u64().unwrap();
    assert!(height < 6_000, "200 guilds are {height} px tall");
    let type_text = |text: &str| {
        page.evaluate(&format!(
            "(() => {{ const input = document.getElementById('search'); input.focus(); input.value = '{text}';
             input.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
        ));
    };
    mark(&page);
    type_text("guild 20");
    page.until("document.querySelectorAll('.rows li').length === 8");
    page.says("8 guilds of 200");
    assert!(is_the_same_document(&page));
    assert_eq!(page.evaluate("document.activeElement.id"), "search", "the focus stays");
    type_text("lighthouses");
    page.until_it_says("66 guilds of 200");
    page.follow(LONG);
    fits(&page, Screen::Phone, "a guild with a long name");
    page.picture("guild-long-name-phone");
}

#[test]
fn the_demo_leads_to_the_guilds_with_all_pictures() {
    let mut demo = Program::new(&["demo", "--port", "0"]).start();
    let site = format!("http://{}", demo.address("Dashboard:"));
    let page = Page::of(&Chromium::start());
    page.go(&site);
    page.says("Shard 4 is slow");
    page.picture("demo-home");
    page.follow("Sign in to see your guilds");
    page.says("Sample Owner");
    assert_eq!(
        page.evaluate("document.querySelector('a.choice').innerText.startsWith('Sample Owner')"),
        true
    );
    page.follow("Sample Owner");
    assert_eq!(page.evaluate("document.querySelectorAll('.card').length"), 4);
    page.until("[...document.images].every(image => image.complete && image.naturalWidth > 0)");
    assert_eq!(page.complaints(), [""; 0]);
    page.picture("demo-guilds");
    page.follow("Harbour City Roleplay");
    page.says("Greet newcomers");
    page.picture("demo-guild");
    page.follow("Permissions");
    page.says("You own this guild.");
}
