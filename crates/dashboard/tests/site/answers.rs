//! Security headers of every response, and error pages.

use crate::browser::{Browser, Site, URL, between, form, html, signed_in};
use actix_web::test::TestRequest;
use companion_dashboard::{Appearance, Logo};
use companion_domain::{
    change::Key,
    port::{Mutation, Record, StoreErrorKind},
};
use companion_testkit::{
    api::service::{Answer, Fault},
    world::{a_guild, a_membership, an_ownership, guild_id, user_id},
};
use std::time::Duration;

#[actix_web::test]
async fn every_response_has_security_headers() {
    let site = Site::new().await;
    for path in ["/", "/team", "/status", "/nowhere", "/sign-in", "/guilds", "/callback"] {
        let request = TestRequest::get().uri(path).insert_header(("Origin", "https://evil.example"));
        let answer = site.send(request).await;
        assert_eq!(answer.header("access-control-allow-origin"), "", "{path}");
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' https://cdn.example; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'",
            "{path}"
        );
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("strict-transport-security"), "", "not over plain HTTP");
        assert!(answer.header("cache-control").contains("no-store"), "{path}");
        let page = html(&answer);
        assert_eq!(page.matches("<script").count(), page.matches("defer></script>").count(), "{path}");
        assert!(!page.contains("style="), "{path}");
    }
}

#[actix_web::test]
async fn assets_are_content_addressed_and_immutable() {
    let site = Site::new().await;
    let page = html(&site.get("/").await);
    for (before, media_type) in [
        ("rel=\"stylesheet\" href=\"", "text/css; charset=utf-8"),
        ("rel=\"icon\" href=\"", "image/svg+xml"),
        ("<script src=\"", "text/javascript; charset=utf-8"),
    ] {
        let path = between(&page, before, "\"");
        let asset = site.get(path).await;
        assert_eq!((asset.status, asset.header("content-type")), (200, media_type));
        assert_eq!(asset.header("cache-control"), "public, max-age=31536000, immutable");
        assert!(!asset.body.is_empty());
        for (accepted, encoding) in [("br, deflate;q=0.8", "deflate"), ("deflate;q=0", ""), ("identity", "")]
        {
            let request = TestRequest::get().uri(path).insert_header(("Accept-Encoding", accepted));
            let answer = site.send(request).await;
            assert_eq!(answer.header("content-encoding"), encoding);
            assert!(answer.headers.get_all("vary").any(|value| value == "Accept-Encoding"));
            assert_eq!(answer.body.len() < asset.body.len(), !encoding.is_empty(), "{path}");
        }
        let (_, file) = path.rsplit_once('/').unwrap();
        let other = site.get(&format!("/assets/0000000000000000/{file}")).await;
        assert_eq!((other.status, other.header("cache-control")), (404, "no-store"), "another version");
    }
}

#[actix_web::test]
async fn unknown_paths_get_an_error_page() {
    let site = Site::new().await;
    let answer = site.get("/nowhere").await;
    assert_eq!((answer.status, answer.header("content-type")), (404, "text/html; charset=utf-8"));
    let page = html(&answer);
    assert!(page.contains("Page not found") && page.contains("href=\"/\""), "{page}");
    let head = site.send(TestRequest::default().method(actix_web::http::Method::HEAD).uri("/nowhere")).await;
    assert_eq!((head.status, head.body.len()), (404, 0));
    let posted = site.send(TestRequest::post().uri("/team")).await;
    assert_eq!((posted.status, posted.header("allow")), (405, "GET, HEAD, OPTIONS"));
}

#[actix_web::test]
async fn trailing_slashes_redirect_within_the_site() {
    let site = Site::new().await;
    for (path, place) in [
        ("/team/", "/team"),
        ("/guilds/7/permissions//", "/guilds/7/permissions"),
        ("/status/?x=1", "/status?x=1"),
    ] {
        let answer = site.get(path).await;
        assert_eq!((answer.status, answer.header("location")), (308, place), "{path}");
    }
    for path in ["//evil.example/", "//", "/\\evil.example/", "/nowhere"] {
        assert_eq!(site.get(path).await.status, 404, "{path}");
    }
    assert_eq!(site.send(TestRequest::post().uri("/sign-out/")).await.status, 404);
}

#[actix_web::test]
async fn error_pages_keep_the_header_of_the_visitor() {
    let (site, browser) = signed_in(vec![]).await;
    let named = |answer: &Answer| html(answer).contains("<span>User 1</span></summary>");
    for path in ["/nowhere", "/guilds/7", "/guilds/x"] {
        let answer = browser.get(path).await;
        assert!(answer.status == 404 && named(&answer), "{path}: {}", html(&answer));
    }
    let refused = browser.post("/sign-out", &[("token", "wrong")]).await;
    assert!(refused.status == 403 && named(&refused), "{}", html(&refused));
    let guest = html(&site.get("/nowhere").await);
    assert!(guest.contains("href=\"/sign-in?return=/guilds\""), "{guest}");
    site.put(Record::Blocked(user_id(1))).await;
    let blocked = browser.get("/guilds").await;
    assert!(
        blocked.status == 403 && named(&blocked),
        "a blocked user can see their data: {}",
        html(&blocked)
    );
}

#[actix_web::test]
async fn says_which_guild_the_bot_has_left() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    let guilds = vec![an_ownership(7), a_membership(9)];
    let browser = Browser::signed_in(&site, 1, guilds).await;
    browser.page("/guilds/7").await;
    site.write(Mutation::Remove(Key::Guild(guild_id(7)))).await;
    let answer = browser.get("/guilds/7").await;
    assert_eq!(answer.status, 404);
    assert!(html(&answer).contains("Night Watch is no longer in this guild"), "{}", html(&answer));

    site.memory.clock.advance(Duration::from_secs(61));
    for path in ["/guilds/7", "/guilds/7/permissions", "/guilds/7/history"] {
        let page = html(&browser.get(path).await);
        assert!(page.contains("<h1>Night Watch is no longer in Guild 7</h1>"), "{path}: {page}");
        assert!(page.contains("href=\"/guilds\">Your guilds"), "{page}");
        assert!(page.contains("href=\"https://platform.example/invite?guild_id=7\""), "{page}");
    }
    let page = html(&browser.get("/guilds/9").await);
    assert!(page.contains("no longer in this guild") && !page.contains("guild_id"), "{page}");
    assert!(html(&browser.get("/guilds/8").await).contains("Page not found"), "not a guild of the user");
}

#[actix_web::test]
async fn the_theme_is_chosen_without_scripts_and_kept() {
    let site = Site::new().await;
    let browser = Browser::of(&site);
    let page = browser.page("/team").await;
    assert!(
        !page.contains("data-theme") && page.contains("value=\"system\" aria-pressed=\"true\""),
        "{page}"
    );
    let choose = async |theme: &str, referrer: &str| {
        let request = form("/theme", &[("theme", theme)]).insert_header(("Origin", URL));
        browser.send(request.insert_header(("Referer", referrer))).await
    };
    let answer = choose("dark", &format!("{URL}/team?x")).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/team"));
    for path in ["/", "/team", "/nowhere", "/callback"] {
        let page = html(&browser.get(path).await);
        assert!(page.contains("<html lang=\"en\" data-theme=\"dark\">"), "{path}: {page}");
        assert!(page.contains("value=\"dark\" aria-pressed=\"true\""), "{path}: {page}");
    }
    browser.sign_in(1, vec![]).await;
    assert!(browser.page("/devices").await.contains("data-theme=\"dark\""));
    assert_eq!(choose("\"><script>", "https://evil.example//x").await.header("location"), "/");
    assert!(!browser.page("/").await.contains("data-theme"), "back to the system's");
    let foreign = form("/theme", &[("theme", "dark")]).insert_header(("Origin", "https://evil.example"));
    assert_eq!(browser.send(foreign).await.status, 403);
}

#[actix_web::test]
async fn the_look_of_the_site_is_the_operators() {
    let logo = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
    let site = Site::with(|settings| {
        settings.appearance = Appearance {
            tagline: Some("Keeps the \"night\" quiet.".to_owned()),
            logo: Some(Logo::new(logo.clone()).unwrap()),
            accent: Some("#7a1f5c".parse().unwrap()),
            features: Vec::new(),
        };
    })
    .await;
    let page = html(&site.get("/team").await);
    assert!(page.contains("<meta property=\"og:title\" content=\"Team – Night Watch\">"), "{page}");
    let words = "Keeps the &#34;night&#34; quiet.";
    assert!(page.contains(&format!("<meta property=\"og:description\" content=\"{words}\">")), "{page}");
    assert!(!page.contains("og:image"), "an SVG is shown nowhere else: {page}");
    let style = site.get(between(&page, "rel=\"stylesheet\" href=\"", "\"")).await;
    assert!(html(&style).contains("--accent: light-dark(#7a1f5c,"));
    let icon = site.get(between(&page, "rel=\"icon\" href=\"", "\"")).await;
    assert_eq!((icon.header("content-type"), icon.body.as_slice()), ("image/svg+xml", logo.as_slice()));
    assert_eq!(
        icon.header("content-security-policy"),
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "its scripts do not run"
    );

    let png = b"\x89PNG\r\n\x1a\n".to_vec();
    let site = Site::with(|settings| settings.appearance.logo = Some(Logo::new(png).unwrap())).await;
    let page = html(&site.get("/").await);
    let path = between(&page, "rel=\"icon\" href=\"", "\"");
    assert!(page.contains(&format!("<meta property=\"og:image\" content=\"{URL}{path}\">")), "{page}");
    assert_eq!(site.get(path).await.header("content-type"), "image/png");
}

#[actix_web::test]
async fn search_engines_read_public_pages_only() {
    let site = Site::new().await;
    let answer = site.get("/robots.txt").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; charset=utf-8"));
    let rules = html(&answer);
    assert!(rules.contains("Allow: /status$\n") && rules.ends_with("Disallow: /\n"), "{rules}");
}

#[actix_web::test]
async fn store_failures_and_panics_get_an_error_page() {
    let (site, browser) = signed_in(vec![]).await;
    site.store.set(Some(Fault::Fails(StoreErrorKind::Unavailable)));
    let answer = browser.get("/devices").await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
    let page = html(&answer);
    assert!(
        page.contains("Try again in 1 second.") && page.contains(answer.header("x-request-id")),
        "{page}"
    );
    assert!(!page.contains("told to fail"), "the cause is only logged");
    assert_eq!(browser.get("/").await.status, 200);
    site.store.set(Some(Fault::Panics));
    let answer = browser.get("/devices").await;
    assert_eq!((answer.status, answer.header("content-type")), (500, "text/html; charset=utf-8"));
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert!(html(&answer).contains("This is our mistake"));
    site.store.set(None);
    assert_eq!(browser.get("/devices").await.status, 200, "the session survives");
}
