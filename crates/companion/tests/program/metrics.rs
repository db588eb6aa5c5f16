//! `GET /metrics` of the running program: contains the statistics of its adapters.

use crate::{
    demo::Stage,
    http,
    stage::{self, until},
};
use serde_json::{Value, json};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn page(management: &str, key: &str) -> String {
    let bearer = format!("Bearer {key}");
    let answer = http::Kept::to(management).unwrap().get("/metrics", &[("Authorization", &bearer)]);
    String::from_utf8(answer.unwrap().body).unwrap()
}

#[track_caller]
pub(crate) fn value(page: &str, sample: &str) -> f64 {
    let found = page.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok());
    found.unwrap_or_else(|| panic!("{sample} is not in:\n{page}"))
}

#[test]
fn counts_operations_under_documented_names() {
    let mut stage = Stage::new();
    let (management, key) = (stage.demo.management(), stage.key());
    // Sessions are counted shortly after the start.
    until("sessions are counted", TIMEOUT, || page(&management, &key).contains("companion_sessions"));
    let before = page(&management, &key);
    let code = stage.code("Sample Owner");
    for (code, status) in [(code.as_str(), 200), ("made-up", 401)] {
        assert_eq!(stage.sign_in(code).status, status);
    }
    let after = page(&management, &key);
    let grown = |sample: &str| value(&after, sample) - value(&before, sample);
    assert!(grown("companion_storage_commits_total") > 0.0);
    assert!(grown("companion_storage_writes_total") >= grown("companion_storage_commits_total"));
    for (sample, expected) in [
        ("companion_identity_sent_total{route=\"token\"}", 2.0),
        ("companion_identity_calls_total{route=\"token\",outcome=\"success\"}", 1.0),
        ("companion_identity_calls_total{route=\"token\",outcome=\"refused\"}", 1.0),
        ("companion_identity_calls_total{route=\"user\",outcome=\"success\"}", 1.0),
        ("companion_identity_calls_total{route=\"guilds\",outcome=\"timed_out\"}", 0.0),
        ("companion_identity_refused_codes", 1.0),
        ("companion_identity_budget_left{budget=\"codes\"}", -1.0),
    ] {
        assert_eq!(grown(sample), expected, "{sample}");
    }
    for (sample, expected) in [
        ("companion_storage_failed_commits_total", 0.0),
        ("companion_identity_breaker{route=\"token\",state=\"closed\"}", 1.0),
        ("companion_identity_breaker{route=\"token\",state=\"open\"}", 0.0),
    ] {
        assert_eq!(value(&after, sample), expected, "{sample}");
    }
    for (smaller, larger) in [
        ("companion_storage_queue_length", "companion_storage_queue_capacity"),
        ("companion_bot_clusters{state=\"silent\"}", "companion_bot_clusters{state=\"live\"}"),
        ("process_resident_memory_bytes", "process_virtual_memory_bytes"),
        ("process_open_fds", "process_max_fds"),
    ] {
        assert!(value(&after, smaller) < value(&after, larger), "{smaller} in {after}");
    }
    for (sample, least) in [("process_cpu_seconds_total", 0.01), ("process_start_time_seconds", 1.7e9)] {
        assert!(value(&after, sample) >= least, "{sample} in {after}");
    }
    let build = format!("companion_build_info{{version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(after.lines().any(|line| line.starts_with(&build) && line.ends_with("} 1")), "{after}");
    for secret in [&code, &key] {
        assert!(!after.contains(secret.as_str()));
    }
    assert_documented(&after);
}

#[test]
fn a_cached_listing_counts_the_bytes_of_its_response() {
    let stage = stage::Stage::new();
    let node = stage.serve("sqlite:companion.db");
    let token = node.sign_in(&stage, 1);
    let quotes = |count: usize| "\"".repeat(count);
    let mut longest = stage::guild(i32::MAX as u64);
    longest["name"] = quotes(256).into();
    longest["icon"] = format!("https://cdn.example/{}", quotes(2028)).into();
    longest["owner"] = u64::MAX.to_string().into();
    let subscribed = (0..999).map(|number| (u64::MAX - number).to_string());
    let subscribed: Vec<_> = subscribed.chain([stage::guild_of(1).to_string()]).collect();
    let subscription = json!({"guilds": subscribed, "slots": 1000});
    node.manage("PUT", "/bot/plus/18446744073709551615", &subscription.to_string());
    for reported in [stage::guild(1), longest] {
        node.manage("PUT", &format!("/bot/guilds/{}", stage::guild_of(1)), &reported.to_string());
        let response = node.guilds(&token).body.to_string().len() as f64;
        let counted = value(
            &page(node.management(), "the-management-key"),
            "companion_cache_bytes{copies=\"listings\"}",
        );
        assert!((response..3.0 * response).contains(&counted), "{counted} for {response}");
    }
    node.stop();
}

/// A metric selector of an expression: `name{label="value",other=~"pattern"}`.
struct Selector<'a> {
    name: &'a str,
    matchers: Vec<(&'a str, &'a str, &'a str)>,
}

fn selectors(text: &str) -> Vec<Selector<'_>> {
    let selector = |(at, _): (usize, &str)| {
        let rest = &text[at..];
        let name = rest.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_').next().unwrap();
        let matchers = rest[name.len()..].strip_prefix('{').and_then(|rest| rest.split('}').next());
        let matchers = matchers.into_iter().flat_map(|matchers| matchers.split(',')).map(|matcher| {
            let at = matcher.find(['=', '!']).unwrap_or_else(|| panic!("{matcher} in {name}"));
            let (label, matched) = matcher.split_at(at);
            let (operator, value) = matched.split_at(matched.find('"').unwrap());
            (label, operator, value.trim_matches('"'))
        });
        Selector { name, matchers: matchers.collect() }
    };
    text.match_indices("companion_").map(selector).collect()
}

/// Asserts that the documentation, the dashboard of Grafana and the alerts name the metrics of this page, and no others.
fn assert_documented(page: &str) {
    let documented = include_str!("../../../../docs/operate.md");
    let shown: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for name in &shown {
        assert!(documented.contains(&format!("| `{name}` |")), "{name} is not in docs/operate.md");
    }
    for row in documented.lines().filter_map(|line| line.strip_prefix("| `companion_")) {
        let name = format!("companion_{}", row.split('`').next().unwrap());
        assert!(shown.contains(&name.as_str()), "{name} is documented, but not shown");
    }
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../../docs/deploy/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut asked: Vec<String> = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    assert!(asked.len() > 20, "{}", asked.len());
    asked.push(include_str!("../../../../docs/deploy/prometheus-rules.yaml").to_owned());
    asked.push(include_str!("../../../../docs/deploy/prometheus-rules-test.yaml").to_owned());
    for selector in asked.iter().flat_map(|text| selectors(text)) {
        let Selector { name, matchers } = selector;
        let samples: Vec<_> = page
            .lines()
            .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])))
            .collect();
        assert!(!samples.is_empty(), "{name} is asked for, but not shown");
        for (label, operator, value) in matchers {
            // Prometheus adds these two labels.
            if matches!(label, "instance" | "job") {
                continue;
            }
            let shown = if operator == "=" && label != "code" {
                format!("{label}=\"{value}\"")
            } else {
                format!("{label}=\"")
            };
            assert!(samples.iter().any(|line| line.contains(&shown)), "{name} has no {shown}");
        }
    }
}
