//! `companion demo`.

use crate::{
    http,
    program::{Program, Running},
};
use serde_json::Value;

fn demo() -> Running {
    Program::new(&["demo"])
        .env("COMPANION_HTTP__LISTEN", "0.0.0.0:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "0.0.0.0:0")
        .start()
}

/// A printed code of someone.
fn code(demo: &mut Running, word: &str) -> String {
    let line = demo.said(&format!("  demo-{word}-"));
    line.split_whitespace().next().unwrap().to_owned()
}

fn sign_in(address: &str, code: &str) -> http::Answer {
    http::ask(address, "POST", "/auth", &[("Idp-Code", code)])
}

fn guilds_of(address: &str, code: &str) -> Vec<Value> {
    let session = sign_in(address, code);
    assert_eq!(session.status, 200, "{}", session.body);
    let token = session.body["data"]["token"].as_str().unwrap();
    let guilds = http::get(address, "/guilds", &[("Token", token)]);
    assert_eq!(guilds.status, 200, "{}", guilds.body);
    guilds.body["data"].as_array().unwrap().clone()
}

fn roles(guilds: &[Value]) -> Vec<&str> {
    guilds.iter().map(|guild| guild["role"].as_str().unwrap()).collect()
}

#[test]
fn all_five_endpoints_answer() {
    let mut demo = demo();
    let address = demo.public();
    let owner = code(&mut demo, "owner");
    let guilds = guilds_of(&address, &owner);
    assert_eq!(roles(&guilds), ["Owner", "Owner", "Manager", "Moderator"]);
    assert!(guilds.iter().any(|guild| guild["plus"]["active"] == true));
    let feedback = http::get(&address, "/feedback", &[]).body;
    let feedback = feedback["data"].as_array().unwrap();
    assert_eq!(feedback.len(), 5);
    assert!(feedback.iter().all(|entry| entry["rating"].as_i64().unwrap() >= 4));
    let team = http::get(&address, "/team", &[]).body;
    let categories: Vec<_> =
        team["data"].as_array().unwrap().iter().map(|member| &member["category"]).collect();
    assert_eq!(categories, ["Leadership", "Leadership", "Engineering", "Engineering", "Support", "Support"]);
    let status = http::get(&address, "/", &[]).body;
    let shards = status["data"]["health"]["bot"]["shards"].as_object().unwrap().clone();
    let unwell = shards.values().filter(|shard| shard["latency"].as_f64().unwrap() > 1.0).count();
    assert_eq!((shards.len(), unwell), (6, 1));
}

#[test]
fn each_person_has_a_view_of_their_own() {
    let mut demo = demo();
    let address = demo.public();
    for (word, expected) in [
        ("manager", &["Manager", "Manager", "Administrator"][..]),
        ("moderator", &["Moderator", "Moderator"]),
        ("developer", &["Administrator"]),
        ("visitor", &[]),
    ] {
        let code = code(&mut demo, word);
        assert_eq!(roles(&guilds_of(&address, &code)), expected, "{word}");
    }
    let blocked = code(&mut demo, "blocked");
    assert_eq!(sign_in(&address, &blocked).status, 403);
}

#[test]
fn a_code_works_once_and_the_next_is_told() {
    let mut demo = demo();
    let address = demo.public();
    assert_eq!(code(&mut demo, "owner"), "demo-owner-1");
    assert_eq!(sign_in(&address, "demo-owner-1").status, 200);
    assert_eq!(sign_in(&address, "demo-owner-1").status, 401);
    assert_eq!(sign_in(&address, "demo-owner-3").status, 401);
    assert_eq!(sign_in(&address, "demo-owner-2").status, 200);
    demo.signal("TERM");
    let finished = demo.finish();
    assert_eq!(finished.code, Some(0));
    assert!(
        finished.err.contains("demo-owner-2") && finished.err.contains("demo-owner-3"),
        "{}",
        finished.err
    );
}

#[test]
fn it_listens_on_loopback_only_whatever_is_configured() {
    let mut demo = demo();
    assert!(demo.public().starts_with("127.0.0.1:"));
    let management = demo.management();
    assert!(management.starts_with("127.0.0.1:"));
    assert_eq!(http::get(&management, "/health/ready", &[]).status, 200);
}

#[test]
fn it_prints_three_commands_to_try() {
    let mut demo = demo();
    let address = demo.public();
    for end in [
        format!("curl -s http://{address}/"),
        format!("curl -s -X POST -H 'Idp-Code: demo-owner-1' http://{address}/auth"),
        format!("http://{address}/guilds"),
    ] {
        let line = demo.said(&end);
        assert!(line.trim().starts_with("curl -s") && line.ends_with(&end), "{line}");
    }
}

#[test]
fn a_busy_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let finished = Program::new(&["demo"]).env("COMPANION_HTTP__LISTEN", &address).finish();
    assert_eq!(finished.code, Some(1));
    assert!(finished.err.contains(&format!("http.listen: cannot listen on {address}")), "{}", finished.err);
}
