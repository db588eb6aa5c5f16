//! The pages: home, the guilds of a user, one guild, the team and the status.

use crate::{
    browser::{Browser, Site, assert_shows, between, html, signed_in},
    settings::stage::a_role,
};
use companion_dashboard::{Feature, PermissionText};
use companion_domain::{
    model::{Entries, Feedback, Guild, Outline, RoleBindings, RoleKey, Roster, StaffPermission, TeamMember},
    policy::Permission,
    port::{Clock as _, Mutation, Record, StoreErrorKind},
};
use companion_testkit::{
    api::service::Fault,
    world::{
        a_feedback, a_guild, a_heartbeat, a_member, a_membership, a_subscription, a_team_member, a_user,
        an_ownership, guild_id, name, roles, user_id,
    },
};
use std::{rc::Rc, time::Duration};

#[actix_web::test]
async fn a_new_site_explains_the_next_steps() {
    let site = Site::new().await;
    let answer = site.get("/").await;
    assert_eq!(answer.status, 200);
    let page = html(&answer);
    assert!(page.contains("<title>Home – Night Watch</title>"), "{page}");
    assert!(page.contains("Night Watch has not reported yet"));
    assert!(page.contains("Nobody has left feedback yet"));
    assert!(page.contains("href=\"/sign-in?return=/guilds\""), "sign-in from home leads to the guilds");
    assert!(page.contains("href=\"https://platform.example/invite\""));
    assert!(page.contains("href=\"https://platform.example/support\""));
    assert!(page.contains("href=\"#content\"") && page.contains("id=\"content\""), "a skip link");
}

#[actix_web::test]
async fn omits_links_that_are_not_configured() {
    let site = Site::with(|settings| (settings.invite_url, settings.support_url) = (None, None)).await;
    let page = html(&site.get("/").await);
    assert!(!page.contains("Invite") && !page.contains("upport"), "{page}");
}

#[actix_web::test]
async fn shows_feedback_and_bot_escaped() {
    let site = Site::new().await;
    let hostile = Feedback {
        text: "<script>alert(1)</script>".parse().unwrap(),
        submitter: companion_domain::model::User {
            name: name("\"><img src=x onerror=alert(2)>"),
            avatar: "https://evil.example/track.png".parse().unwrap(),
            ..a_user(3)
        },
        ..a_feedback("a", 5)
    };
    site.put(Record::Feedback(hostile.clone())).await;
    site.write(Mutation::Report(a_heartbeat("a", site.memory.clock.now()))).await;
    let page = html(&site.get("/").await);
    assert!(page.contains("Night Watch is online with one shard."), "{page}");
    assert!(page.contains("5 of 5 stars"));
    assert!(page.contains("script&#62;alert(1)") || page.contains("script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>") && !page.contains("<img src=x"), "{page}");
    assert!(!page.contains("evil.example"), "no request to other hosts");
    assert!(page.contains(">IS<") || page.contains("initials"), "initials replace the picture");
}

#[actix_web::test]
async fn home_presents_the_bot() {
    let feature = |title: &str| Feature { title: title.to_owned(), text: format!("{title} <b>text</b>") };
    let site = Site::with(|settings| {
        settings.appearance.tagline = Some("Keeps the night quiet.".to_owned());
        settings.appearance.features = vec![feature("Shifts"), feature("Logs")];
    })
    .await;
    site.put(Record::Feedback(Feedback { text: "Good.".parse().unwrap(), ..a_feedback("a", 4) })).await;
    site.put(Record::Feedback(Feedback { text: "".parse().unwrap(), ..a_feedback("b", 5) })).await;
    let page = html(&site.get("/").await);
    let places: Vec<_> = [
        "class=\"logo\"",
        "<h1>Night Watch</h1>",
        "Keeps the night quiet.</p>",
        ">Invite Night Watch</a>",
        ">Sign in to see your guilds</a>",
        "<h3>Shifts</h3>",
        "<h3>Logs</h3>",
        "4 of 5 stars\">★★★★☆<",
    ]
    .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}")))
    .into();
    assert!(places.is_sorted(), "{places:?} {page}");
    assert!(!page.contains("<b>text") && !page.contains("5 of 5 stars"), "without an empty opinion: {page}");
    assert_eq!(
        page.matches("class=\"button\"").count(),
        2,
        "the invitation, and the header's sign-in: {page}"
    );
}

#[actix_web::test]
async fn public_pages_need_no_store() {
    let site = Site::new().await;
    site.put(Record::Feedback(a_feedback("a", 5))).await;
    let roster = Roster::new(vec![a_team_member(4, "Engineering", 1)]).unwrap();
    site.write(Mutation::ReplaceTeam(roster.clone())).await;
    // Feedback is loaded in the background.
    site.memory.ports.scheduler.finish(Duration::from_secs(30)).await;
    site.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    assert_eq!(site.get("/status").await.status, 200);
    assert!(html(&site.get("/").await).contains("5 of 5 stars"));
    let team = site.get("/team").await;
    assert!(team.status == 200 && html(&team).contains("Engineering"), "{}", html(&team));
}

#[actix_web::test]
async fn an_empty_guild_list_explains_the_next_steps() {
    let (_, browser) = signed_in(vec![an_ownership(7)]).await;
    let page = browser.page("/guilds").await;
    assert!(page.contains("in none of the guilds that you run"), "{page}");
    assert!(page.contains("href=\"https://platform.example/invite\""));

    let site = Site::with(|settings| settings.invite_url = None).await;
    let browser = Browser::signed_in(&site, 1, vec![]).await;
    assert!(browser.page("/guilds").await.contains("Invite it, or ask"));
}

#[actix_web::test]
async fn managed_guilds_without_the_bot_can_be_invited_to() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    let guilds = || [7, 8, 9].map(an_ownership).into_iter().chain([a_membership(10)]).collect::<Vec<_>>();
    let browser = Browser::signed_in(&site, 1, guilds()).await;
    let page = browser.page("/guilds").await;
    assert!(page.contains("You manage 2 more guilds that Night Watch is not in."), "{page}");
    assert!(page.contains("href=\"https://platform.example/invite\""), "without a guild, too: {page}");
    assert!(page.contains("href=\"https://platform.example/invite?guild_id=8\""), "{page}");
    assert!(page.contains("Invite Night Watch to Guild 9") && !page.contains("Guild 10"), "{page}");

    site.put(Record::Guild(a_guild(8))).await;
    let page = browser.page("/guilds").await;
    assert!(page.contains("You manage one more guild that") && page.contains("href=\"/guilds/8\""), "{page}");

    let elsewhere = Some("https://bot.example/invite".parse().unwrap());
    let site = Site::with(|settings| settings.invite_url = elsewhere).await;
    let page = Browser::signed_in(&site, 1, guilds()).await.page("/guilds").await;
    assert_eq!(page.matches("href=\"https://bot.example/invite\"").count(), 5, "as configured: {page}");
    assert!(!page.contains("guild_id"), "{page}");
}

#[actix_web::test]
async fn guild_cards_show_all_attributes() {
    let site = Site::new().await;
    let bare = Guild { icon: None, setup: false, ..a_guild(8) };
    let foreign = Guild {
        name: name("<b>Foreign</b> Picture"),
        icon: Some("https://evil.example/x.png".parse().unwrap()),
        ..a_guild(9)
    };
    for guild in [a_guild(7), bare, foreign] {
        site.put(Record::Guild(guild.clone())).await;
    }
    site.put(Record::Subscription(a_subscription(5, &[7]))).await;
    let browser = Browser::signed_in(
        &site,
        1,
        vec![an_ownership(7), an_ownership(8), an_ownership(9), a_membership(10)],
    )
    .await;
    let page = browser.page("/guilds").await;
    let shown = [
        "href=\"/guilds/7\">Guild 7<",
        "https://cdn.example/icons/7.png",
        "https://cdn.example/embed/avatars/0.png",
        ">Owner<",
        "42 members",
        ">Not set up yet<",
        "&#60;b&#62;Foreign",
        ">BP<",
    ];
    assert_shows(&page, &shown);
    assert_eq!(page.matches(">Plus<").count(), 1);
    assert!(!page.contains("evil.example") && !page.contains("<b>"));
    assert!(!page.contains("role=\"search\"") && page.contains("class=\"card\""), "few guilds: {page}");
    assert!(browser.page("/guilds?q=7").await.contains("role=\"search\""), "a search can be undone");
}

/// Returns a browser of the owner of this many guilds, which are set up but for the second. The third is premium.
async fn with_guilds(site: &Rc<Site>, count: u64) -> Browser {
    for number in 1..=count {
        site.put(Record::Guild(Guild { setup: number != 2, ..a_guild(number) })).await;
    }
    site.put(Record::Subscription(a_subscription(5, &[3]))).await;
    Browser::signed_in(site, 1, (1..=count).map(an_ownership).collect()).await
}

#[actix_web::test]
async fn many_guilds_can_be_searched_and_filtered() {
    let site = Site::new().await;
    let browser = with_guilds(&site, 30).await;
    let links = |page: &str| page.matches("href=\"/guilds/").count();
    let page = browser.page("/guilds").await;
    assert!(page.contains("role=\"search\"") && page.contains("class=\"rows\""), "{page}");
    assert_eq!(links(&page), 30);
    for (query, found, first) in [
        ("q=guild+2", 11, "Guild 2"),
        ("q=GUILD+30", 1, "Guild 30"),
        ("show=not-set-up", 1, "Guild 2"),
        ("show=premium", 1, "Guild 3"),
        ("show=owner&q=1", 12, "Guild 1"),
        ("show=nonsense", 30, "Guild 1"),
    ] {
        let page = browser.page(&format!("/guilds?{query}")).await;
        assert_eq!(links(&page), found, "{query}: {page}");
        assert!(page.contains(&format!(">{first}</a>")), "{query}: {page}");
    }
    let page = browser.page("/guilds?q=guild+2&show=premium").await;
    assert!(page.contains("No guild of yours matches this") && page.contains("0 guilds of 30."), "{page}");
    assert!(page.contains("href=\"/guilds?q=guild+2&#38;show=owner\""), "filters keep the text: {page}");
    assert!(page.contains("Not set up <span>1</span>"), "filters count what has the text: {page}");
    let page = browser.page("/guilds?q=%22%3E%3Cb%3E").await;
    assert!(!page.contains("<b>"), "{page}");
}

#[actix_web::test]
async fn two_hundred_guilds_are_pages_of_thirty_kilobytes() {
    let site = Site::new().await;
    let browser = with_guilds(&site, 200).await;
    let mut seen = 0;
    let mut path = "/guilds".to_owned();
    loop {
        let page = browser.page(&path).await;
        assert!(page.len() < 30_000, "{path} has {} bytes", page.len());
        seen += page.matches("id=\"guild-").count();
        if !page.contains("rel=\"next\"") {
            assert!(page.contains("href=\"/guilds?page=2\" rel=\"prev\""), "{page}");
            break;
        }
        let (before, _) = page.split_once("\" rel=\"next\"").unwrap();
        path = before.rsplit_once('"').unwrap().1.to_owned();
    }
    assert_eq!((seen, path.as_str()), (200, "/guilds?page=3"));
    for beyond in ["99", "18446744073709551615"] {
        let last = browser.page(&format!("/guilds?page={beyond}")).await;
        assert_eq!(last.matches("id=\"guild-").count(), 40, "the last page");
    }
}

#[actix_web::test]
async fn users_see_only_their_own_guilds() {
    let site = Site::new().await;
    for guild in [7, 8, 9] {
        site.put(Record::Guild(a_guild(guild))).await;
    }
    let one = Browser::signed_in(&site, 1, vec![an_ownership(7), a_membership(9)]).await;
    let other = Browser::signed_in(&site, 2, vec![an_ownership(8)]).await;
    let (first, second) = (one.page("/guilds").await, other.page("/guilds").await);
    assert!(first.contains("Guild 7") && !first.contains("Guild 8"));
    assert!(second.contains("Guild 8") && !second.contains("Guild 7"));
    assert!(!html(&one.get("/guilds/8").await).contains("Guild 8"));
    for path in ["/guilds/8", "/guilds/9", "/guilds/10", "/guilds/0", "/guilds/x"] {
        assert_eq!(one.get(path).await.status, 404, "{path}");
    }
}

/// Returns the row of a permission: its mark, label, what it is about, reason and name.
fn row<'a>(page: &'a str, permission: &str) -> &'a str {
    let name = format!("<code>{permission}</code>");
    let end = page.find(&name);
    assert!(end.is_some(), "{permission} is not in {page}");
    let end = end.unwrap();
    &page[page[..end].rfind("<li>").unwrap()..end]
}

#[actix_web::test]
async fn permissions_say_why_or_why_not_in_words() {
    let site = Site::new().await;
    let bindings = [(RoleKey::Admin, roles(&[70, 71])), (RoleKey::ErlcStaff, roles(&[72]))];
    let guild = Guild { name: name("<Harbour>"), bindings: RoleBindings::new(bindings), ..a_guild(7) };
    site.put(Record::Guild(guild)).await;
    site.put(Record::Member(a_member(7, 1, &[71, 99]))).await;
    let browser = Browser::signed_in(&site, 1, vec![a_membership(7)]).await;
    let page = browser.page("/guilds/7").await;
    assert!(page.contains("<title>&#60;Harbour&#62; – Night Watch</title>"), "{page}");
    for (permission, shown) in [
        (
            "ADMIN",
            &["Granted", "<h3>Administrator</h3>", "You have the role <span class=\"role\">Role 71</span>."]
                [..],
        ),
        ("MOD", &["Granted", "Use the bot&#39;s moderation commands.", ">Role 71</span>."]),
        ("SETUP", &["Granted", "The bot is set up here."]),
        ("MANAGE_SERVER", &["Not granted", "<p>Needs Manage Server.</p>"]),
        ("ERLC_STAFF", &["Needs the role <span class=\"role\">Role 72</span>, or Manage Server."]),
        ("SESSION_STARTER", &["Needs Manage Server. No role here gives it."]),
        ("SERVICE_PLUS_MEMBER", &["Needs a personal subscription."]),
    ] {
        let row = row(&page, permission);
        for text in shown {
            assert!(row.contains(text), "{text} is not in {row}");
        }
    }
    let fold = page.find("<details class=\"more\">").unwrap();
    assert!(page.find(">SETUP<").unwrap() < fold && page.find(">MANAGE_SERVER<").unwrap() > fold);
    assert!(page.contains("<summary>8 more that you do not have here</summary>"), "{page}");
    let headings: Vec<_> =
        page.match_indices("<h2>").map(|(at, _)| between(&page[at..], "<h2>", "</h2>")).collect();
    assert_eq!(headings, ["Server", "Moderation", "Server", "Game server", "Premium"]);
    assert!(!page.contains("FOUNDER") && !page.contains("Bot staff"), "rows of the staff are for the staff");

    let outline = Outline {
        guild: guild_id(7),
        channels: Entries::new(Vec::new()).unwrap(),
        roles: Entries::new(vec![a_role(71, "<Captain>", Some("#AA5500"))]).unwrap(),
    };
    site.put(Record::Outline(outline)).await;
    let page = browser.page("/guilds/7").await;
    let chip = "fill=\"#AA5500\"/></svg>@&#60;Captain&#62;</span>.";
    assert!(row(&page, "ADMIN").contains(chip), "{page}");
}

#[actix_web::test]
async fn staff_see_their_own_permissions_too() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    site.put(Record::Staff(user_id(1), [StaffPermission::BotDeveloper].into_iter().collect())).await;
    let page = Browser::signed_in(&site, 1, vec![an_ownership(7)]).await.page("/guilds/7").await;
    assert!(row(&page, "BOT_DEVELOPER").contains("The bot&#39;s team gave it to you."), "{page}");
    assert!(row(&page, "SUPPORT").contains("Comes with Bot developer."));
    assert!(row(&page, "FOUNDER").contains("Needs the bot&#39;s team to grant it."));
    assert_eq!(page.matches("<code>").count(), 20);
}

#[actix_web::test]
async fn permissions_are_shown_in_the_words_of_the_bot() {
    let text = |label: &str, group: &str| PermissionText {
        label: Some(label.to_owned()),
        group: Some(group.to_owned()),
        ..PermissionText::default()
    };
    let site = Site::with(|settings| {
        settings.permissions = [
            (Permission::SessionStarter, Some(text("Shift lead", "Shifts & more"))),
            (Permission::ErlcLinked, None),
        ]
        .into();
    })
    .await;
    site.put(Record::Guild(a_guild(7))).await;
    let page = Browser::signed_in(&site, 1, vec![an_ownership(7)]).await.page("/guilds/7").await;
    let row = row(&page, "SESSION_STARTER");
    assert!(row.contains("<h3>Shift lead</h3>") && row.contains("Start and end sessions"), "{row}");
    assert!(page.contains("<h2>Shifts &#38; more</h2>"), "{page}");
    assert!(!page.contains("ERLC_LINKED") && !page.contains("game server is linked"), "{page}");
}

#[actix_web::test]
async fn a_guild_has_tiles_and_the_steps_that_are_left() {
    let site = Site::new().await;
    let bindings = RoleBindings::new([(RoleKey::Mod, roles(&[70]))]);
    let begun = Guild { setup: false, bindings: bindings.clone(), ..a_guild(7) };
    site.put(Record::Guild(begun.clone())).await;
    site.put(Record::Member(a_member(7, 2, &[70]))).await;
    let owner = Browser::signed_in(&site, 1, vec![an_ownership(7)]).await;
    let moderator = Browser::signed_in(&site, 2, vec![a_membership(7)]).await;
    let page = owner.page("/guilds/7").await;
    let shown = [
        "<dt>Members</dt><dd>42</dd>",
        "<dt>Your role</dt><dd>Owner</dd>",
        "<dt>Premium</dt><dd>Not active</dd>",
        "<details class=\"panel checklist\" open>",
        "2 of 4 done",
        "aria-label=\"Done\">✓</span><div><h3>Invite Night Watch</h3></div>",
        "aria-label=\"To do\"></span><div><h3>Run its set-up</h3><p>Use the set-up command",
    ];
    assert_shows(&page, &shown);
    assert!(moderator.page("/guilds/7").await.contains("2 of 4 done"), "the bot cannot be used yet");

    site.put(Record::Guild(Guild { setup: true, ..begun.clone() })).await;
    let page = owner.page("/guilds/7").await;
    assert!(page.contains("<details class=\"panel checklist\">") && page.contains("3 of 4 done"), "{page}");
    assert!(!moderator.page("/guilds/7").await.contains("checklist"), "not theirs to do");
    site.put(Record::Guild(Guild { setup: true, linked: true, ..begun })).await;
    assert!(!owner.page("/guilds/7").await.contains("checklist"), "nothing is left");
}

#[actix_web::test]
async fn shows_the_team_by_category_in_order() {
    let site = Site::new().await;
    assert!(html(&site.get("/team").await).contains("has not introduced itself yet"));
    let hostile = TeamMember { role: name("<i>Lead</i>"), ..a_team_member(3, "Support & Co", 1) };
    let team = vec![a_team_member(2, "Builders", 2), a_team_member(1, "Builders", 1), hostile];
    site.write(Mutation::ReplaceTeam(Roster::new(team).unwrap())).await;
    let page = html(&site.get("/team").await);
    let places: Vec<_> = [">Builders<", ">User 1<", ">User 2<", "Support &#38; Co", ">User 3<", "i&#62;Lead"]
        .map(|text| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}")))
        .into();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches(">Builders<").count(), 1);
    assert!(page.contains("fill=\"#1ABC9C\"") && page.contains("https://cdn.example/avatars/1.png"));
    assert!(page.contains("href=\"/sign-in?return=/team\""), "sign-in returns to this page");
}
