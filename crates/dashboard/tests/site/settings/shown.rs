//! What visitors see of settings.

use super::stage::{SectionForm, confirm, opened, owned, owner, publish, schema, set, site, stored};
use crate::browser::{Browser, Site, assert_shows, between};
use companion_domain::port::{Clock as _, Mutation, Record};
use companion_testkit::world::{a_guild, a_heartbeat, a_subscription, an_ownership};
use serde_json::json;

#[actix_web::test]
async fn a_guild_has_three_pages_once_a_schema_is_published() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    let browser = Browser::signed_in(&site, 1, vec![an_ownership(7)]).await;
    let page = browser.page("/guilds/7").await;
    assert!(page.contains("You own this guild.") && !page.contains("/guilds/7/history"), "{page}");

    publish(&site, schema()).await;
    for (path, here) in [
        ("/guilds/7", "<a href=\"/guilds/7\" aria-current=\"page\">Settings</a>"),
        ("/guilds/7/permissions", "<a href=\"/guilds/7/permissions\" aria-current=\"page\">Permissions</a>"),
        ("/guilds/7/history", "<a href=\"/guilds/7/history\" aria-current=\"page\">History</a>"),
    ] {
        let page = browser.page(path).await;
        assert!(page.contains(here) && page.contains("<title>Guild 7 "), "{page}");
    }
    assert!(browser.page("/guilds/7/permissions").await.contains("You own this guild."));
    assert!(browser.page("/guilds/7/history").await.contains("Nothing has been changed yet"));
    for path in ["/guilds/8", "/guilds/8/permissions", "/guilds/8/history", "/guilds/x/history"] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
}

#[actix_web::test]
async fn sections_are_forms_with_defaults_and_names() {
    let site = site().await;
    let page = owner(&site).await.page("/guilds/7").await;
    let shown = [
        "How new members are greeted.",
        "<label for=\"welcome.enabled-input\">The enabled</label>",
        "<option value=\"\" selected>Default (On)</option><option value=\"true\">On</option>",
        "value=\"\" placeholder=\"5\" type=\"number\" step=\"1\" min=\"0\" max=\"60\"",
        "<span>seconds</span>",
        "step=\"any\" min=\"0.5\"",
        "placeholder=\"Welcome!\"",
        "At most 20 characters.",
        "<option value=\"\" selected>Default (Plain text)</option>",
        "<legend>The styles</legend>",
        "Default (Plain text). At most 2.",
        "placeholder=\"#1ABC9C\"",
        "fill=\"#1ABC9C\"",
        "<option value=\"71\">#hall</option></select>",
        "<input type=\"checkbox\" name=\"value.channels\" value=\"72\">stage (voice)</label>",
        "<input type=\"radio\" name=\"value.role\" value=\"\" checked>Not set</label>",
        "fill=\"#AA5500\"/></svg>Owls</label>",
        "Nothing is set yet",
    ];
    assert_shows(&page, &shown);
    assert!(!page.contains("Back to default<"), "nothing is set");
    assert_eq!(page.matches(">Save</button>").count(), 1, "of the only section that can be edited");
    assert!(!page.contains("style=") && page.len() < 30_000, "{}", page.len());
    let forms_begin = page.find("<form method=\"post\" action=\"/guilds/7\"").unwrap();
    assert!(page.find("</div><!-- live -->").unwrap() < forms_begin, "forms are outside of the live region");
}

#[actix_web::test]
async fn sections_without_permission_say_what_gives_it() {
    let site = site().await;
    set(&site, json!({"open.word": "seen by all", "closed.word": "for founders", "premium.badge": "gold"}))
        .await;
    confirm(&site, &[("closed.word", "told to founders"), ("open.word", "told to all")]).await;
    let browser = owner(&site).await;
    let page = browser.page("/guilds/7").await;
    for key in ["open", "closed"] {
        let section = between(&page, &format!("id=\"section-{key}\""), "</section>");
        assert!(section.contains("Needs the bot&#39;s team to grant it."), "{section}");
        assert!(!section.contains("<form"));
    }
    assert!(page.contains("<dt>The word</dt><dd>seen by all</dd>") && page.contains("told to all"), "{page}");
    assert!(!page.contains("for founders") && !page.contains("told to founders"), "{page}");
    let premium = between(&page, "id=\"section-premium\"", "</section>");
    assert!(premium.contains(">Premium<") && premium.contains("Only premium guilds"), "{premium}");
    assert!(!premium.contains("gold") && !premium.contains("Needs"));
    let history = browser.page("/guilds/7/history").await;
    assert!(history.contains("seen by all") && !history.contains("for founders"), "{history}");
    assert!(history.contains("Not shown to you"));

    site.put(Record::Subscription(a_subscription(5, &[7]))).await;
    let page = browser.page("/guilds/7").await;
    assert!(page.contains("value=\"gold\""), "a subscription unlocks it: {page}");
}

#[actix_web::test]
async fn saved_turns_into_in_force_or_the_bots_problem() {
    let (site, browser, mut form) = opened().await;
    form.fill("value.delay", &["3"]);
    form.save(&browser).await;
    let saved = |page: &str| between(page, "role=\"status\">Saved.", "</p>").to_owned();
    let path = "/guilds/7?saved=welcome";
    assert!(saved(&browser.page(path).await).contains("Not in force yet: the bot is silent."));
    site.write(Mutation::Report(a_heartbeat("a", site.memory.clock.now()))).await;
    assert!(saved(&browser.page(path).await).contains("the bot has not confirmed them"));
    confirm(&site, &[]).await;
    assert!(saved(&browser.page(path).await).contains("In force."));
    confirm(&site, &[("welcome.delay", "Too <i>slow</i>.")]).await;
    let page = browser.page(path).await;
    assert!(saved(&page).contains("In force, except for 1 field."));
    let beside = between(&page, "id=\"welcome.delay-now\"", "</div>");
    assert!(beside.contains("Too &#60;i&#62;slow"), "{beside}");
    set(&site, json!({"welcome.delay": 4})).await;
    assert!(!browser.page(path).await.contains("slow"), "a problem of an older revision");
    assert!(!browser.page("/guilds/7").await.contains("Saved."));
}

#[actix_web::test]
async fn all_texts_are_escaped() {
    const HOSTILE: &str = "\"'></textarea></option><script>alert(1)</script>";
    let site = site().await;
    let mut hostile = schema();
    let options = json!([{"value": HOSTILE, "title": HOSTILE}]);
    for section in hostile["sections"].as_array_mut().unwrap() {
        section["title"] = HOSTILE.into();
        section["description"] = HOSTILE.into();
        for field in section["fields"].as_array_mut().unwrap() {
            field["title"] = HOSTILE.into();
            field["description"] = HOSTILE.into();
            match field["type"].as_str().unwrap() {
                "text" => {
                    field["max_length"] = 100.into();
                    let many = field.get("many").is_some();
                    field["default"] = if many { json!([HOSTILE]) } else { HOSTILE.into() };
                }
                "integer" => field["unit"] = HOSTILE.into(),
                "choice" => {
                    field["choices"] = options.clone();
                    field.as_object_mut().unwrap().remove("default");
                }
                _ => {}
            }
        }
    }
    publish(&site, hostile).await;
    let browser = owner(&site).await;
    for values in [
        json!({}),
        json!({"welcome.greeting": HOSTILE, "welcome.rules": HOSTILE, "welcome.words": [HOSTILE],
            "welcome.style": HOSTILE, "welcome.styles": [HOSTILE], "open.word": HOSTILE}),
    ] {
        set(&site, values).await;
        confirm(&site, &[("welcome.greeting", HOSTILE)]).await;
        for path in ["/guilds/7", "/guilds/7/history", "/guilds/7?saved=%3Cscript%3E"] {
            let page = browser.page(path).await;
            assert!(!page.contains("<script>") && !page.contains("\"'>"), "{path}: {page}");
        }
        let form = SectionForm::open(&browser, "welcome").await;
        let revision = stored(&site).await.revision;
        form.save(&browser).await;
        assert_eq!(stored(&site).await.revision, revision, "what is shown is what is stored");
    }
}

#[actix_web::test]
async fn without_an_outline_channels_and_roles_are_ids() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    publish(&site, schema()).await;
    let browser = owner(&site).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    form.fill("value.role", &["81"]);
    form.fill("value.roles", &["81\r\n82"]);
    form.save(&browser).await;
    assert_eq!(
        json!(stored(&site).await.values),
        json!({"welcome.role": "81", "welcome.roles": ["81", "82"]})
    );
    assert!(browser.page("/guilds/7").await.contains("has not sent the names yet"));
}

#[actix_web::test]
async fn a_value_that_the_schema_refuses_is_kept_and_not_shown() {
    let (site, browser) = owned().await;
    set(&site, json!({"welcome.delay": 50})).await;
    let mut newer = schema();
    newer["sections"][0]["fields"][1]["max"] = 40.into();
    publish(&site, newer).await;
    let mut form = SectionForm::open(&browser, "welcome").await;
    assert_eq!(form.get("value.delay"), [""]);
    form.fill("value.greeting", &["Hi"]);
    form.save(&browser).await;
    assert_eq!(json!(stored(&site).await.values), json!({"welcome.delay": 50, "welcome.greeting": "Hi"}));
}
