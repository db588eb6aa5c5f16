//! One id names a request from the client to the platform, in the log and in the audit trail.

use crate::{http, program::Program};
use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    thread,
    time::Duration,
};

/// Longer than a request may take without a line in the log.
const SILENCE: Duration = Duration::from_millis(2200);

#[test]
fn a_request_has_one_id_on_its_way_and_the_log_says_where_its_time_went() {
    // It hears a request, is silent for longer than one may take unnoticed, and hangs up.
    let platform = TcpListener::bind("127.0.0.1:0").unwrap();
    let api_url = format!("http://{}/api", platform.local_addr().unwrap());
    let hearing = thread::spawn(move || {
        let (stream, _) = platform.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines();
        let head: Vec<_> = lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        let _ = lines.map_while(Result::ok).count();
        head.iter().map(|line| line.to_lowercase()).collect::<Vec<_>>()
    });
    let mut service = Program::serving(&["serve"])
        .env("COMPANION_LOG__FORMAT", "json")
        .env("COMPANION_IDENTITY__CLIENT_ID", "123")
        .env("COMPANION_IDENTITY__CLIENT_SECRET", "secret")
        .env("COMPANION_IDENTITY__REDIRECT_URI", "https://dashboard.example/callback")
        .env("COMPANION_IDENTITY__API_URL", &api_url)
        .start();
    let public = service.public();
    let headers = [("Idp-Code", "a-code"), ("X-Request-Id", "from-the-client")];
    let answer = http::ask(&public, "POST", "/auth", &headers);
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert_eq!(answer.body["data"]["request_id"], "from-the-client");
    let heard = hearing.join().unwrap();
    for line in
        ["x-request-id: from-the-client", concat!("user-agent: companion/", env!("CARGO_PKG_VERSION"))]
    {
        assert!(heard.iter().any(|header| header == line), "{line} in {heard:?}");
    }
    service.signal("INT");
    let log = service.finish().err;
    let lines: Vec<serde_json::Value> =
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let told = |part: &str| {
        let found = lines
            .iter()
            .find(|line| line.to_string().contains(part) && line.to_string().contains("from-the-client"));
        found.unwrap_or_else(|| panic!("{part} in {log}"))
    };
    told("provider_failed");
    told("companion::audit");
    let slow = told("a request was slow");
    let spent = |part: &str| {
        let name = format!("{part}milliseconds");
        let found = slow["fields"][&name].as_f64().or(slow[&name].as_f64());
        found.unwrap_or_else(|| panic!("{name} in {slow}"))
    };
    assert!(spent("provider_") >= 2_000.0 && spent("") >= spent("provider_"), "{slow}");
    assert!(spent("storage_") < 2_000.0 && spent("rendering_") < 2_000.0, "{slow}");
}
