//! The dashboard of the running program, as a browser meets it.

use crate::{http, metrics, program::Program};
use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

/// What a browser got.
struct Page {
    status: u16,
    head: String,
    text: String,
}

impl Page {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A browser: it keeps cookies by host, and goes where it is sent.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<(String, String), String>,
}

impl Browser {
    fn get(&mut self, url: &str) -> Page {
        let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .filter(|((host, _), _)| host == address)
            .map(|((_, name), value)| format!("{name}={value}"))
            .collect();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nCookie: {}\r\n\r\n",
            cookies.join("; ")
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        for line in head.lines() {
            let Some((_, set)) =
                line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
            else {
                continue;
            };
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert((address.to_owned(), name.to_owned()), value.to_owned());
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Page { status, head: head.to_owned(), text: text.to_owned() }
    }
}

#[test]
fn the_demo_signs_someone_in_through_its_platform_and_shows_their_guilds() {
    let mut demo = Program::new(&["demo", "--port", "0"]).start();
    let site = format!("http://{}", demo.address("Dashboard:"));
    let mut browser = Browser::default();
    let home = browser.get(&format!("{site}/"));
    assert_eq!(home.status, 200, "{}", home.text);
    assert!(home.text.contains("Sample Bot is online: 6 shards."), "{}", home.text);

    let sent = browser.get(&format!("{site}/sign-in"));
    assert_eq!(sent.status, 303);
    let platform = format!("{}&login_hint=sample_owner", sent.header("location").unwrap());
    let picked = browser.get(&platform);
    let back = picked.header("location").unwrap().to_owned();
    assert!(back.starts_with(&format!("{site}/callback?")), "{back}");
    let signed_in = browser.get(&back);
    assert_eq!(
        (signed_in.status, signed_in.header("location")),
        (303, Some("/guilds")),
        "{}",
        signed_in.text
    );

    let guilds = browser.get(&format!("{site}/guilds"));
    assert_eq!((guilds.status, guilds.text.matches("href=\"/guilds/").count()), (200, 4), "{}", guilds.text);
    let start = guilds.text.find("href=\"/guilds/").unwrap() + "href=\"".len();
    let first = guilds.text[start..].split('"').next().unwrap();
    let guild = browser.get(&format!("{site}{first}"));
    assert!(guild.text.contains("because you own this guild"), "{}", guild.text);
    let pictures: Vec<_> =
        guilds.text.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let policy = guilds.header("content-security-policy").unwrap();
    for picture in pictures.iter().filter(|picture| picture.starts_with("http")) {
        let origin = picture.split('/').take(3).collect::<Vec<_>>().join("/");
        assert!(policy.contains(&origin), "{picture}: {policy}");
    }

    let declined = {
        let mut browser = Browser::default();
        let sent = browser.get(&format!("{site}/sign-in"));
        let platform = format!("{}&login_hint=nobody", sent.header("location").unwrap());
        let back = browser.get(&platform).header("location").unwrap().to_owned();
        browser.get(&back)
    };
    assert_eq!(declined.status, 403, "{}", declined.text);
}

#[test]
fn a_dashboard_is_served_counted_and_stopped_with_the_rest() {
    let serving = |program: Program| {
        program
            .env("COMPANION_DASHBOARD__LISTEN", "127.0.0.1:0")
            .env("COMPANION_DASHBOARD__URL", "https://dashboard.example/")
            .env("COMPANION_DASHBOARD__NAME", "Night Watch")
            .env("COMPANION_MANAGEMENT__KEY", "a-management-key")
            .start()
    };
    let mut service = serving(Program::serving(&["serve"]));
    let line = service.said("Dashboard:");
    let address = line.rsplit(' ').next().unwrap().trim_end_matches(')').to_owned();
    assert!(line.contains("https://dashboard.example (listens on 127.0.0.1:"), "{line}");
    let management = service.management();
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
    let page = Browser::default().get(&format!("http://{address}/"));
    assert!(page.text.contains("<h1>Night Watch</h1>"), "{}", page.text);
    let numbers = metrics::page(&management, "a-management-key");
    let sample = "companion_http_requests_total{listener=\"dashboard\",endpoint=\"/\",code=\"200\"}";
    assert_eq!(metrics::value(&numbers, sample), 1.0);
    service.signal("TERM");
    let finished = service.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    assert!(TcpStream::connect(address).is_err());

    let mut without = Program::serving(&["serve"]).start();
    without.said("Stop with Ctrl-C");
    without.signal("TERM");
    assert!(!without.finish().out.contains("Dashboard"), "it is off unless it is switched on");
}
