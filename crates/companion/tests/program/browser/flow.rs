//! The whole way, with scripts and without.

use crate::browser::{page::Page, stage::Stage};

/// Home, sign-in, guilds, one guild, devices, my data, sign out.
fn whole_way(stage: &Stage, page: &Page) {
    page.go(&stage.at("/"));
    assert_eq!(page.heading(), "Night Watch");
    page.says("Night Watch is online: 4 shards");
    page.says("Set up in ten minutes");
    page.follow("Team");
    page.says("Bot Developer");
    page.follow("Status");
    page.says("Cluster north");
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
    page.says("because you own this guild");
    assert_eq!(page.evaluate("document.querySelectorAll('tbody tr').length"), 20);
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
fn one_gets_from_the_home_page_to_ones_guilds_and_out_again() {
    let stage = Stage::new();
    whole_way(&stage, &stage.page());
}

#[test]
fn everything_works_without_scripts() {
    let stage = Stage::new();
    let page = stage.page();
    page.without_scripts();
    whole_way(&stage, &page);
}

#[test]
fn two_people_at_once_see_only_their_own() {
    let stage = Stage::new();
    let (owl, lark) = (stage.signed_in("Night Owl"), stage.signed_in("Day Lark"));
    for page in [&owl, &lark] {
        page.reload();
    }
    owl.says("Night Owls");
    lark.says("Day Larks");
    assert!(!owl.text().contains("Day Larks") && !lark.text().contains("Night Owls"));
    lark.follow("Day Larks");
    let others = lark.url();
    owl.go(&others);
    assert_eq!((owl.status(), owl.heading().as_str()), (404, "Page not found"));
}

#[test]
fn forgetting_oneself_asks_first_and_then_nothing_is_left() {
    let stage = Stage::new();
    let page = stage.signed_in("Night Owl");
    page.go(&stage.at("/my-data"));
    page.follow("Forget me");
    page.follow("Yes, forget me");
    assert_eq!(page.heading(), "You are forgotten");
    page.go(&stage.at("/guilds"));
    assert!(page.url().starts_with(&stage.platform_origin()), "{}", page.url());
}
