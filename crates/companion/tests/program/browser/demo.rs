//! The demo, as someone sees it who tries it for the first time.

use crate::{
    browser::{chromium::Chromium, page::Page},
    program::Program,
};

#[test]
fn the_demo_leads_from_one_command_to_ones_guilds_with_all_pictures() {
    let mut demo = Program::new(&["demo", "--port", "0"]).start();
    let site = format!("http://{}", demo.address("Dashboard:"));
    let page = Page::of(&Chromium::start());
    page.go(&site);
    page.says("Sample Bot is online: 6 shards");
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
    page.says("because you own this guild");
    page.picture("demo-guild");
}
