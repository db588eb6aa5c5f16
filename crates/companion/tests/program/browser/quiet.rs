//! What pages cost, and what they do not do: no word in the console, nothing from elsewhere, nothing that blocks.

use crate::browser::{page::write, stage::Stage};
use std::fmt::Write as _;

const PAGES: [&str; 6] = ["/", "/team", "/status", "/guilds", "/devices", "/my-data"];

#[test]
fn pages_are_silent_light_and_load_nothing_from_elsewhere() {
    let stage = Stage::new();
    let signed_in = stage.signed_in("Night Owl");
    let mut facts = String::from(
        "| page | requests | bytes | from elsewhere | blocking script | first paint |\n|---|---|---|---|---|---|\n",
    );
    for path in PAGES {
        let page = signed_in.another();
        page.call("Network.setCacheDisabled", &serde_json::json!({"cacheDisabled": true}));
        page.go(&stage.at(path));
        page.until("performance.getEntriesByName('first-contentful-paint').length");
        assert_eq!(page.complaints(), [""; 0], "{path}");
        let allowed = [stage.site.clone(), stage.platform_origin()];
        let foreign: Vec<_> = page.origins().into_iter().filter(|origin| !allowed.contains(origin)).collect();
        assert_eq!(foreign, [""; 0], "{path}");
        let pictures = stage.platform_origin() + "/cdn/";
        let elsewhere: Vec<_> =
            page.asked().into_iter().filter(|url| !url.starts_with(&stage.site)).collect();
        assert!(elsewhere.iter().all(|url| url.starts_with(&pictures)), "{elsewhere:?}");
        let blocking =
            page.evaluate("[...document.scripts].filter(one => !one.defer && !one.async || !one.src).length");
        assert_eq!(blocking, 0, "{path}");
        let paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime");
        let (requests, bytes) = page.weight();
        assert!(bytes < 60_000, "{path} has {bytes} bytes");
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
