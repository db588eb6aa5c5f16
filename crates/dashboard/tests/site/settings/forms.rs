//! What is sent and saved, while others change the same.

use super::stage::{
    SectionForm, guild, opened, owned, owner, populate, publish, schema, set, site, stored, values,
};
use crate::browser::{Browser, Site, assert_shows, html};
use async_trait::async_trait;
use companion_domain::{
    change::Applied,
    port::{ChangeSettingsError, SettingsStore},
    settings::{Change, Edit, Origin, Stored, Value},
};
use companion_testkit::{
    over::{Over, SettingsStoreOver},
    world::{an_ownership, user_id},
};
use serde_json::json;
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

#[actix_web::test]
async fn every_type_can_be_set_and_returned_to_its_default() {
    let (site, browser, mut form) = opened().await;
    for (name, texts) in [
        ("value.enabled", &["false"][..]),
        ("value.delay", &["12"]),
        ("value.ratio", &["0.75"]),
        ("value.greeting", &["Hello <b>"]),
        ("value.rules", &["\r\nBe kind.\r\nBe brief."]),
        ("value.words", &["one\r\n\r\ntwo"]),
        ("value.style", &["embed"]),
        ("value.styles", &["plain", "embed"]),
        ("value.color", &["#aabbcc"]),
        ("value.channel", &["71"]),
        ("value.channels", &["71", "72"]),
        ("value.role", &["81"]),
        ("value.roles", &["82"]),
    ] {
        form.fill(name, texts);
    }
    let answer = form.send(&browser).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/guilds/7?saved=welcome#section-welcome"));
    let set = json!({
        "welcome.enabled": false, "welcome.delay": 12, "welcome.ratio": 0.75, "welcome.greeting": "Hello <b>",
        "welcome.rules": "\nBe kind.\nBe brief.", "welcome.words": ["one", "two"], "welcome.style": "embed",
        "welcome.styles": ["plain", "embed"], "welcome.color": "#aabbcc", "welcome.channel": "71",
        "welcome.channels": ["71", "72"], "welcome.role": "81", "welcome.roles": ["82"],
    });
    assert_eq!(values(&site).await, set);
    let changed = stored(&site).await.changed.unwrap();
    assert_eq!((changed.by, changed.via), (Some(user_id(1)), Origin::Site));

    // What is shown is what was typed, and saving it again changes nothing.
    SectionForm::open(&browser, "welcome").await.save(&browser).await;
    assert_eq!(stored(&site).await.revision, 1);

    let mut form = SectionForm::open(&browser, "welcome").await;
    for name in ["enabled", "style", "channel", "role"] {
        form.fill(&format!("value.{name}"), &[""]);
    }
    for name in ["delay", "ratio", "greeting", "rules", "words", "styles", "color", "channels", "roles"] {
        form.fill(&format!("reset.{name}"), &["yes"]);
    }
    form.save(&browser).await;
    assert_eq!(values(&site).await, json!({}));
}

#[actix_web::test]
async fn a_section_returns_to_its_defaults_at_once() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.delay": 9, "welcome.roles": ["81"], "open.word": "kept"})).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.greeting", &["typed in vain"]);
    form.fill("reset", &["section"]);
    form.save(&browser).await;
    assert_eq!(values(&site).await, json!({"open.word": "kept"}));
}

#[actix_web::test]
async fn only_changed_fields_are_sent() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.delay": 9, "welcome.greeting": "Hi"})).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    set(&site, json!({"welcome.delay": 10, "welcome.ratio": 2})).await;
    form.fill("value.greeting", &["Hello"]);
    form.save(&browser).await;
    assert_eq!(
        values(&site).await,
        json!({"welcome.delay": 10, "welcome.greeting": "Hello", "welcome.ratio": 2}),
        "another user's changes of other fields stay"
    );
    let history = site.use_cases.settings.store.history(guild()).await.unwrap();
    assert_eq!(history[0].changes.len(), 1);
}

#[actix_web::test]
async fn mistakes_return_beside_their_fields_with_all_input() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.color": "#000000"})).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    for (name, texts) in [
        ("value.delay", &["61"][..]),
        ("value.ratio", &["a lot"]),
        ("value.greeting", &["twenty-one characters"]),
        ("value.rules", &["<textarea>\r\n</textarea><script>"]),
        ("value.words", &["a\r\nb\r\nc\r\nd"]),
        ("value.color", &["blue"]),
        ("value.style", &["embed"]),
        ("value.roles", &["82", "x"]),
        ("reset.words", &[]),
    ] {
        form.fill(name, texts);
    }
    let answer = form.send(&browser).await;
    assert_eq!(answer.status, 422);
    let page = html(&answer);
    let shown = [
        "The delay must be from 0 to 60.",
        "The ratio must be a number.",
        "The greeting must have 0 to 20 characters.",
        "The words must have 0 to 3 entries.",
        "The color must be # and six hexadecimal digits, like #1ABC9C.",
        "Entry 2 of The roles must be",
        "href=\"#welcome.delay\">The delay</a>",
        "role=\"alert\"",
        "aria-describedby=\"welcome.delay-about welcome.delay-mistake\" aria-invalid=\"true\"",
    ];
    assert_shows(&page, &shown);
    assert!(!page.contains("<script>"));
    let mut sent = form.0.clone();
    let mut again = SectionForm::of(&page, "welcome").0;
    sent.sort();
    again.sort();
    assert_eq!(again, sent, "everything typed, and what it was rendered with");
    assert_eq!(stored(&site).await.revision, 1);
}

#[actix_web::test]
async fn a_conflict_shows_both_values_and_keeps_the_choice() {
    for (choice, expected) in [("mine", "Mine"), ("theirs", "Theirs")] {
        let (site, browser, mut form) = opened().await;
        form.fill("value.greeting", &["Mine"]);
        form.fill("value.delay", &["61"]);
        set(&site, json!({"welcome.greeting": "Theirs", "welcome.ratio": 4})).await;
        let answer = form.send(&browser).await;
        assert_eq!(answer.status, 422);
        let page = html(&answer);
        let mistake = "The delay must be from 0 to 60.";
        assert_shows(&page, &[">Yours: Mine<", ">Theirs: Theirs<", "href=\"#welcome.greeting\"", mistake]);
        let mut form = SectionForm::of(&page, "welcome");
        assert_eq!(form.get("value.ratio"), ["4"], "a field left alone is shown as it is now");
        form.fill("value.delay", &["60"]);
        let answer = form.send(&browser).await;
        assert_eq!(answer.status, 409, "without a choice nothing is saved");
        let mut form = SectionForm::of(&html(&answer), "welcome");
        assert_eq!((form.get("value.greeting"), form.get("value.delay")), (vec!["Mine"], vec!["60"]));

        form.fill("choose.greeting", &[choice]);
        form.fill("value.delay", &["61"]);
        let answer = form.send(&browser).await;
        assert_eq!(answer.status, 422);
        let mut form = SectionForm::of(&html(&answer), "welcome");
        assert_eq!(form.get("value.greeting"), [expected], "the choice is kept");
        form.fill("value.delay", &["60"]);
        form.save(&browser).await;
        let expected = json!({"welcome.delay": 60, "welcome.greeting": expected, "welcome.ratio": 4});
        assert_eq!(values(&site).await, expected);
    }
}

#[actix_web::test]
async fn a_value_changed_again_is_a_conflict_again() {
    let (site, browser, mut form) = opened().await;
    form.fill("value.greeting", &["Mine"]);
    set(&site, json!({"welcome.greeting": "Second"})).await;
    let mut form = SectionForm::of(&html(&form.send(&browser).await), "welcome");
    form.fill("choose.greeting", &["mine"]);
    set(&site, json!({"welcome.greeting": "Third"})).await;
    let answer = form.send(&browser).await;
    assert!(answer.status == 409 && html(&answer).contains(">Theirs: Third<"), "{}", html(&answer));
}

#[actix_web::test]
async fn the_same_change_by_two_users_is_no_conflict() {
    let (site, browser, mut form) = opened().await;
    form.fill("value.greeting", &["Same"]);
    set(&site, json!({"welcome.greeting": "Same"})).await;
    form.save(&browser).await;
    assert_eq!(stored(&site).await.revision, 1);
}

#[actix_web::test]
async fn an_unknown_id_is_kept_or_cleared_and_blocks_nothing() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.role": "99", "welcome.roles": ["81", "98"], "welcome.channel": "97"})).await;
    let page = browser.page("/guilds/7").await;
    for shown in ["Unknown role 99", "Unknown role 98", "Unknown channel 97"] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
    let mut form = SectionForm::of(&page, "welcome");
    form.fill("value.delay", &["1"]);
    form.fill("value.roles", &["82", "98"]);
    form.save(&browser).await;
    let kept = json!({"welcome.role": "99", "welcome.roles": ["82", "98"], "welcome.channel": "97",
        "welcome.delay": 1});
    assert_eq!(values(&site).await, kept);

    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.role", &[""]);
    form.fill("value.roles", &["82"]);
    form.fill("value.channel", &[""]);
    form.save(&browser).await;
    assert_eq!(values(&site).await, json!({"welcome.roles": ["82"], "welcome.delay": 1}));
}

#[actix_web::test]
async fn a_form_of_an_older_schema_saves_what_is_still_there() {
    let (site, browser, mut form) = opened().await;
    let mut newer = schema();
    newer["sections"][0]["fields"].as_array_mut().unwrap().retain(|field| field["key"] != "ratio");
    newer["sections"][0]["fields"][3]["key"] = "renamed".into();
    publish(&site, newer).await;
    form.fill("value.delay", &["3"]);
    form.fill("value.ratio", &["3"]);
    form.save(&browser).await;
    assert_eq!(values(&site).await, json!({"welcome.delay": 3}));
    form.fill("section", &["gone"]);
    assert_eq!(form.send(&browser).await.status, 404);
}

#[actix_web::test]
async fn a_form_may_be_as_large_as_the_values_of_a_guild() {
    let (_, browser, mut form) = opened().await;
    form.fill("value.rules", &[&"é".repeat(4000)]);
    form.save(&browser).await;
    form.fill("value.rules", &[&"x".repeat(6 * 64 * 1024)]);
    assert_eq!(form.send(&browser).await.status, 413);
}

#[actix_web::test]
async fn a_lost_permission_is_told() {
    let (site, browser, mut form) = opened().await;
    let mut newer = schema();
    newer["sections"][0]["permission"] = "FOUNDER".into();
    publish(&site, newer).await;
    form.fill("value.delay", &["3"]);
    let answer = form.send(&browser).await;
    assert_eq!(answer.status, 403);
    assert!(html(&answer).contains("you may not edit this section"), "{}", html(&answer));
    assert_eq!(values(&site).await, json!({}));
}

#[actix_web::test]
async fn settings_of_a_guild_of_others_are_not_found() {
    let site = site().await;
    let other = Browser::signed_in(&site, 2, vec![an_ownership(8)]).await;
    let token = other.form_token().await;
    for (path, field) in [("/guilds/7", ("section", "welcome")), ("/guilds/7/history", ("revision", "1"))] {
        assert_eq!(other.post(path, &[("token", &token), field]).await.status, 404, "{path}");
    }
}

#[actix_web::test]
async fn an_old_sign_in_changes_nothing_and_keeps_everything_typed() {
    let site = Site::planned(|_| {}, |plan| plan.rules.keep_tokens = false).await;
    populate(&site).await;
    let browser = owner(&site).await;
    site.memory.clock.advance(Duration::from_secs(3601));
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.greeting", &["Mine"]);
    let answer = form.send(&browser).await;
    assert_eq!(answer.status, 401);
    let page = html(&answer);
    assert!(page.contains("your sign-in is too old"), "{page}");
    assert_eq!(SectionForm::of(&page, "welcome").get("value.greeting"), ["Mine"]);
    assert_eq!(values(&site).await, json!({}));
}

/// Another user who changes the delay before each of the first changes that the site makes.
struct Rival {
    inner: Arc<dyn SettingsStore>,
    changes: AtomicU64,
}

#[async_trait]
impl SettingsStoreOver for Rival {
    fn settings(&self) -> &dyn SettingsStore {
        &*self.inner
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let left = self.changes.load(Ordering::Relaxed);
        if left > 0 && change.edit.via == Origin::Site {
            self.changes.store(left - 1, Ordering::Relaxed);
            let values = [("welcome.delay".parse().unwrap(), Value::number(left as f64))].into();
            let edit = Edit { by: None, via: Origin::Bot, ..change.edit };
            let rival = Change { guild: guild(), values, expected: None, edit, authority: None };
            self.inner.change(&rival).await?;
        }
        self.inner.change(change).await
    }
}

async fn contested(changes: u64) -> Rc<Site> {
    let site = Site::planned(
        |_| {},
        |plan| {
            let settings = &mut plan.memory.ports.stores.settings;
            let rival = Rival { inner: Arc::clone(settings), changes: AtomicU64::new(changes) };
            *settings = Arc::new(Over(rival));
        },
    )
    .await;
    populate(&site).await;
    site
}

#[actix_web::test]
async fn retries_a_race_unless_over_the_same_field_or_endless() {
    for (changes, field, typed, words) in [
        (2, "value.greeting", "Mine", None),
        (1, "value.delay", "50", Some(">Theirs: 1 seconds<")),
        (50, "value.greeting", "Mine", Some("others are changing these settings right now")),
    ] {
        let site = contested(changes).await;
        let browser = owner(&site).await;
        let mut form = SectionForm::open(&browser, "welcome").await;
        form.fill(field, &[typed]);
        let answer = form.send(&browser).await;
        let Some(words) = words else {
            assert_eq!(values(&site).await, json!({"welcome.delay": 1, "welcome.greeting": "Mine"}));
            continue;
        };
        assert_eq!(answer.status, 409);
        let page = html(&answer);
        assert!(page.contains(words), "{page}");
        assert_eq!(SectionForm::of(&page, "welcome").get(field), [typed], "what was typed is kept");
        assert!(values(&site).await.get("welcome.greeting").is_none());
    }
}
