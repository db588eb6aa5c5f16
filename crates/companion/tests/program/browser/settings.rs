//! Settings of guilds in the browser: typing, saving, and what changes meanwhile.

use super::{
    LONG, fits, mark, on_all_screens,
    page::{Axe, Page, Screen},
    stage::{Stage, guild_id},
};
use serde_json::{Value, json};

/// A section with every type of field, and sections that Night Owl may not edit.
const SCHEMA: &str = include_str!("../../../../dashboard/tests/site/settings/schema.json");

fn outline(roles: &[u64]) -> Value {
    let colours = [json!("#E67E22"), json!("#3498DB"), Value::Null];
    let roles: Vec<_> = roles
        .iter()
        .map(|number| {
            json!({"id": number.to_string(), "name": format!("Role {number}"), "color": colours[*number as usize % 3]})
        })
        .collect();
    json!({"roles": roles, "channels": [
        {"id": "71", "name": "hall", "kind": "text"}, {"id": "72", "name": "stage", "kind": "voice"},
        {"id": "73", "name": "news", "kind": "announcement"},
    ]})
}

/// The settings of the guild Night Owls, as the bot sees them.
struct Bot(Stage);

impl Bot {
    fn new() -> Self {
        let bot = Self(Stage::new());
        bot.0.feed("PUT", "/bot/settings", &serde_json::from_str(SCHEMA).unwrap());
        bot.feed("PUT", "outline", &outline(&[81, 82, 83, 84]));
        bot
    }

    fn feed(&self, method: &str, path: &str, body: &Value) {
        self.0.feed(method, &format!("/bot/guilds/{}/{path}", guild_id(0)), body);
    }

    fn set(&self, values: &Value) {
        self.feed("PATCH", "settings", &json!({"values": values}));
    }

    fn confirm(&self, revision: u64, problems: &Value) {
        self.feed("PUT", "settings/applied", &json!({"revision": revision, "problems": problems}));
    }

    /// Opens the settings for the owner.
    fn open(&self) -> Page {
        let page = self.0.signed_in("Night Owl");
        page.go(&self.path(""));
        page
    }

    fn path(&self, below: &str) -> String {
        self.0.at(&format!("/guilds/{}{below}", guild_id(0)))
    }
}

/// Types into an input, a list or a text area of the section Welcome.
fn fill(page: &Page, field: &str, text: &str) {
    page.evaluate(&format!("document.getElementById('welcome.{field}-input').value = {}", Value::from(text)));
}

/// Checks the box of a value.
fn check(page: &Page, field: &str, value: &str) {
    let input = format!("#section-welcome input[name=\"value.{field}\"][value=\"{value}\"]");
    page.evaluate(&format!("document.querySelector({}).click()", Value::from(input)));
}

fn input(page: &Page, field: &str) -> String {
    let input = format!("document.getElementById('welcome.{field}-input').value");
    page.evaluate(&input).as_str().unwrap().to_owned()
}

fn save(page: &Page) {
    page.click("document.querySelector('#section-welcome button')");
}

fn fill_all(page: &Page) {
    for (field, text) in [
        ("enabled", "false"),
        ("delay", "12"),
        ("ratio", "0.75"),
        ("greeting", "Hello, <b>friend</b>"),
        ("rules", "\nBe kind.\nBe brief."),
        ("words", "one\ntwo"),
        ("style", "embed"),
        ("color", "#aa5500"),
        ("channel", "71"),
    ] {
        fill(page, field, text);
    }
    for (field, value) in [
        ("styles", "plain"),
        ("channels", "72"),
        ("channels", "73"),
        ("role", "82"),
        ("roles", "81"),
        ("roles", "83"),
    ] {
        check(page, field, value);
    }
}

/// Returns what every input of the section contains.
fn inputs(page: &Page) -> Value {
    page.evaluate(
        "[...new FormData(document.querySelector('#section-welcome form'))]
            .filter(([name]) => name.startsWith('value.')).map(([name, value]) => `${name}=${value}`)",
    )
}

fn changes_every_type(page: &Page, bot: &Bot) {
    fill_all(page);
    let typed = inputs(page);
    assert_eq!(typed.as_array().unwrap().len(), 15);
    save(page);
    page.says("Saved. Not in force yet");
    assert_eq!(inputs(page), typed);
    page.reload();
    assert_eq!(inputs(page), typed);
    save(page);
    bot.confirm(1, &json!([]));
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
fn every_type_is_saved_and_in_force_live() {
    let bot = Bot::new();
    let page = bot.open();
    changes_every_type(&page, &bot);
    page.until_it_says("Saved. In force.");
    page.follow("History");
    page.says("You");
    page.says("Hello, <b>friend</b>");
    page.follow("Undo");
    page.says("Change 2");
    page.follow("Settings");
    assert_eq!((input(&page, "greeting").as_str(), input(&page, "delay").as_str()), ("", ""));
    refuses(&page, &bot);
    save_by_keyboard(&page);
    assert_eq!(page.complaints(), [""; 0]);
}

/// A refusal of the bot, of revision 3, appears beside its field.
fn refuses(page: &Page, bot: &Bot) {
    fill(page, "greeting", "Hello");
    save(page);
    page.until_it_listens();
    bot.confirm(3, &json!([{"key": "welcome.greeting", "message": "I cannot write there."}]));
    page.until_it_says("In force, except for 1 field.");
    page.until("document.getElementById('welcome.greeting-now').innerText.includes('I cannot write there.')");
    bot.confirm(3, &json!([]));
    page.until_it_says("Saved. In force.");
    page.until("!document.body.innerText.includes('I cannot write there.')");
}

/// The keyboard alone saves.
fn save_by_keyboard(page: &Page) {
    page.evaluate("document.getElementById('welcome.enabled-input').focus()");
    page.press("Tab");
    assert_eq!(page.evaluate("document.activeElement.id"), "welcome.delay-input");
    page.call("Input.insertText", &json!({"text": "8"}));
    page.led(|page| page.press("Enter"));
    page.says("Saved.");
    assert_eq!(input(page, "delay"), "8");
}

#[test]
fn live_changes_leave_what_was_typed() {
    let bot = Bot::new();
    let page = bot.open();
    mark(&page);
    fill(&page, "greeting", "Mine");
    fill(&page, "rules", "Half a sent");
    page.evaluate("document.getElementById('welcome.rules-input').focus()");
    bot.set(&json!({"welcome.greeting": "Theirs", "welcome.delay": 9}));
    let note = |field: &str| format!("document.getElementById('welcome.{field}-now').nextElementSibling");
    for field in ["greeting", "delay"] {
        page.until(&format!("!{}.hidden", note(field)));
    }
    page.says("Changed meanwhile");
    assert_eq!(page.evaluate(&format!("{}.hidden", note("rules"))), true);
    assert_eq!((input(&page, "greeting").as_str(), input(&page, "rules").as_str()), ("Mine", "Half a sent"));
    assert_eq!(page.evaluate("document.activeElement.id"), "welcome.rules-input", "the focus stays");
    assert_eq!(page.evaluate("window.marked"), true, "without a reload");

    save(&page);
    assert_eq!(page.status(), 409);
    page.says("Yours: Mine");
    page.says("Theirs: Theirs");
    assert_eq!(page.evaluate("document.querySelectorAll('[name^=\"choose.\"]').length"), 2, "one conflict");
    page.picture("settings-conflict");
    assert_eq!(page.complaints(), [""; 0]);
    page.evaluate("document.querySelector('[value=mine]').click()");
    save(&page);
    page.says("Saved.");
    assert_eq!((input(&page, "greeting").as_str(), input(&page, "delay").as_str()), ("Mine", "9"));
    assert_eq!(input(&page, "rules"), "Half a sent");
}

#[test]
fn five_hundred_roles_fit_a_phone() {
    let bot = Bot::new();
    let mut outline = outline(&(1_000..1_500).collect::<Vec<_>>());
    for role in outline["roles"].as_array_mut().unwrap() {
        role["name"] = LONG.into();
    }
    bot.feed("PUT", "outline", &outline);
    let page = bot.open();
    page.on(Screen::Phone);
    fits(&page, Screen::Phone, "500 roles");
    page.picture("settings-500-roles-phone");
    check(&page, "role", "1499");
    check(&page, "roles", "1400");
    let typed = inputs(&page);
    save(&page);
    page.says("Saved.");
    assert_eq!(inputs(&page), typed);
}

/// Pages of settings on every screen.
mod axe {
    use super::*;

    #[test]
    fn settings_and_their_history_fit_all_screens() {
        let bot = Bot::new();
        let page = bot.open();
        let mut axe = Axe::on(&page);
        fill_all(&page);
        save(&page);
        bot.confirm(1, &json!([{"key": "welcome.greeting", "message": "I cannot write there."}]));
        for (name, path) in [("settings", "?saved=welcome"), ("settings-history", "/history")] {
            page.go(&bot.path(path));
            on_all_screens(&page, name, Some(&mut axe));
        }
        axe.finish();
    }

    #[test]
    fn settings_with_mistakes_fit_all_screens() {
        let bot = Bot::new();
        let page = bot.open();
        let mut axe = Axe::on(&page);
        bot.set(&json!({"welcome.color": "#000000"}));
        fill(&page, "color", "#ffffff");
        fill(&page, "greeting", &"x".repeat(21));
        save(&page);
        assert_eq!(page.status(), 422);
        on_all_screens(&page, "settings-mistakes", Some(&mut axe));
        page.go(&bot.path("/permissions"));
        on_all_screens(&page, "settings-permissions", Some(&mut axe));
        axe.finish();
    }
}
