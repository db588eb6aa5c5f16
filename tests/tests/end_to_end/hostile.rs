//! Damaged records, streams, configurations and requests: everything is accepted or rejected as promised, without
//! panics or leaks.
//!
//! The default run is small. `HOSTILE` sets the percentage of the full numbers.

use actix_web::{
    Error,
    body::{BoxBody, to_bytes},
    dev::{Service as ActixService, ServiceResponse},
    http::{
        Method, Uri,
        header::{HeaderName, HeaderValue},
    },
    test::{TestRequest, init_service, try_call_service},
};
use companion::configuration::{
    ConfigurationFile, KEYS, Layers, load_for_serving, sample as sample_configuration,
};
use companion_domain::model::{FieldError, UserId};
use companion_records::{
    Accepted, BlockedRecord, ClusterReport, FeedbackRecord, GuildRecord, Lines, MemberRecord, Record,
    StaffRecord, SubscriptionRecord, Team, read_body, write_line,
};
use companion_testkit::{
    api::{
        sample,
        service::{DASHBOARD, KEY, Service},
    },
    hostile::{Hostile, count},
    world::{a_membership, a_user},
};
use serde_json::{Value, json};
use std::fs;

/// Asserts that each of these configurations is accepted, or refused with a message.
fn explained_or_accepted(what: &str, full: u64, mut next: impl FnMut() -> Layers) {
    let (inputs, mut refused) = (count(300, full), 0);
    for _ in 0..inputs {
        if let Err(errors) = load_for_serving(&next()) {
            refused += 1;
            assert!(!errors.to_string().trim().is_empty());
        }
    }
    println!("hostile: {inputs} {what}, {refused} refused: no panic");
    assert!(refused > 0 && refused < inputs);
}

#[test]
fn hostile_variables_are_parsed_or_refused_with_a_message() {
    let names: Vec<_> = KEYS.iter().map(|key| key.variable()).collect();
    let sample = sample_configuration();
    let values = sample.lines().filter_map(|line| line.strip_prefix('#')?.split_once(" = "));
    let values: Vec<_> = values.map(|(_, value)| value.trim_matches('"')).collect();
    let (mut name, mut value) = (Hostile::new(&names, 1), Hostile::new(&values, 2));
    explained_or_accepted("environments", 1_000_000, || {
        let mut layers = Layers::none();
        for _ in 0..=value.below(3) {
            // Most names are valid, so that their values are parsed.
            let name =
                if value.below(4) == 0 { name.text() } else { names[value.below(names.len())].clone() };
            // A file named here could be any on this machine.
            if !name.ends_with("_FILE") {
                layers = layers.with(&name, &value.text());
            }
        }
        layers
    });
}

#[test]
fn hostile_files_are_parsed_or_refused_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("companion.toml");
    let commented = sample_configuration();
    // The sample's keys are commented out; uncomment them.
    let set: String = commented
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line))
        .fold(String::new(), |text, line| text + line + "\n");
    let short = "[http]\nlisten = \"127.0.0.1:0\"\nsign_out = true\n[sessions]\nlifetime = \"30d\"\n";
    let table = "[identity.redirect_uri]\n\"https://a.example\" = \"https://a.example/b\"\n[limits]\nbody = \"1 KiB\"\n";
    let mut hostile = Hostile::new(&[commented.as_str(), &set, short, short, table, table], 3);
    explained_or_accepted("configuration files", 500_000, || {
        fs::write(&path, hostile.bytes()).unwrap();
        Layers { file: ConfigurationFile::Named(path.clone()), ..Layers::none() }
    });
}

const DEFAULT_COUNT: u64 = 3000;

/// Returns a line of each kind that an export contains.
fn lines() -> Vec<String> {
    let session = json!({
        "kind": "session", "id": "0".repeat(64), "user": "1", "created_at": 1_767_000_000, "last_seen_at": 1_767_000_001,
    });
    let grant = json!({"kind": "grant", "user": "1", "version": 1, "guilds": []});
    sample::world().iter().chain([&session, &grant]).map(Value::to_string).collect()
}

#[test]
fn hostile_lines_round_trip_or_are_refused_with_a_path() {
    let mut hostile = Hostile::new(&lines(), 1);
    let inputs = count(DEFAULT_COUNT, 20_000_000);
    let mut taken = 0_u64;
    for number in 0..inputs {
        let accepted = if number % 2 == 0 { Accepted::World } else { Accepted::Archive };
        let mut stream = Lines::new(accepted);
        let input = hostile.bytes();
        let whole = stream.take(input).and_then(|records| Ok((records, stream.finish()?)));
        let Ok((records, last)) = whole else { continue };
        for numbered in records.into_iter().chain(last) {
            let line = write_line(numbered.record.clone());
            let again = Lines::new(accepted).take(line.as_bytes()).unwrap();
            assert_eq!(again.first().map(|again| &again.record), Some(&numbered.record), "{line}");
            taken += 1;
        }
    }
    println!(
        "hostile: {inputs} lines, {taken} records among them, each the same when written and read: no panic"
    );
    assert!(taken > inputs / 20, "{taken}");
}

#[test]
fn hostile_streams_yield_the_same_records_in_any_chunking() {
    let stream = lines()[..7].join("\n");
    let mut hostile = Hostile::new(&[stream.as_str(), &stream.replace('\n', "\r\n\n")], 2);
    let inputs = count(500, 1_000_000);
    let mut refused = 0_u64;
    for number in 0..inputs {
        let size = 1 + hostile.below(300);
        let bytes = hostile.bytes();
        let read = |size: usize| {
            let mut lines = Lines::new(Accepted::World);
            let mut records = Vec::new();
            for piece in bytes.chunks(size) {
                records.extend(lines.take(piece)?);
            }
            records.extend(lines.finish()?);
            Ok::<_, companion_domain::port::InvalidLineError>(records)
        };
        let [whole, pieces] = [usize::MAX, size].map(|size| read(size).map_err(|error| error.to_string()));
        refused += u64::from(whole.is_err());
        assert_eq!(whole, pieces, "stream {number} in pieces of {size}");
    }
    println!("hostile: {inputs} streams in pieces, {refused} refused at the same place as in one: no panic");
}

/// Full number of bodies of each record type.
const EACH: u64 = 2_000_000;

/// Parses damaged bodies of one record type.
fn bodies<R: Record>(key: &str, sample: &Value) -> u64 {
    let (mut hostile, mut keys) = (Hostile::new(&[sample.to_string()], 3), Hostile::new(&[key], 4));
    let inputs = count(DEFAULT_COUNT / 6, EACH);
    for _ in 0..inputs {
        let body = serde_json::from_slice(hostile.bytes());
        let key = keys.text();
        explained(read_body::<R>(&|_| &key, &body));
    }
    inputs
}

/// Asserts that a rejection has messages.
fn explained<T>(read: Result<T, Vec<FieldError>>) {
    if let Err(errors) = read {
        assert!(!errors.is_empty() && errors.iter().all(|error| !error.message.is_empty()));
    }
}

#[test]
fn hostile_bodies_are_accepted_or_refused_with_a_message() {
    let mut inputs = bodies::<GuildRecord>("7", &sample::guild());
    inputs += bodies::<MemberRecord>("7", &json!({"roles": ["70", "71"]}));
    inputs += bodies::<SubscriptionRecord>("5", &json!({"guilds": ["7"], "slots": 2}));
    inputs += bodies::<StaffRecord>("5", &json!({"permissions": ["SUPPORT", "FOUNDER"]}));
    inputs += bodies::<FeedbackRecord>("a-Z_9", &sample::feedback());
    inputs += bodies::<BlockedRecord>("5", &json!({}));
    inputs += bodies::<ClusterReport>("east", &sample::heartbeat("0", 1.5, 512.25));
    let team = json!([sample::team_member("5", "Support"), sample::team_member("6", "Board")]).to_string();
    let mut hostile = Hostile::new(&[team], 5);
    for _ in 0..count(DEFAULT_COUNT / 6, EACH) {
        explained(Team::read_body(&serde_json::from_slice(hostile.bytes())));
        inputs += 1;
    }
    println!("hostile: {inputs} bodies of eight records: no panic");
}

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get"];
/// Headers that both APIs read, and some that they must ignore.
const HEADERS: [(&str, &[&str]); 16] = [
    ("token", &["cmp_AAAA"]),
    ("idp-code", &["NhhvTDYsFcdgNLnnLijcl7Ku7bEEeee"]),
    ("idp-code-verifier", &["dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"]),
    ("sent-epoch", &["1700000000", "1700000000.25"]),
    ("origin", &[DASHBOARD, "null"]),
    ("x-request-id", &["A-z_0.9"]),
    ("x-forwarded-for", &["198.51.100.1, 10.0.0.1", "2001:db8::1"]),
    ("last-event-id", &["1", "18446744073709551615"]),
    ("if-none-match", &["\"abc\"", "*", "W/\"abc\", \"def\""]),
    ("access-control-request-method", &["POST", "GET"]),
    ("access-control-request-headers", &["token, idp-code", "Sent-Epoch"]),
    ("content-type", &["application/json", "text/plain"]),
    ("content-encoding", &["gzip"]),
    ("user-agent", &["curl/8.5.0"]),
    ("accept", &["*/*", "text/event-stream"]),
    ("expect", &["100-continue"]),
];
/// Content types without the envelope.
const WITHOUT_ENVELOPE: [&str; 3] = ["text/html", "text/plain", "text/event-stream"];

/// The damaged requests to send.
struct Requests {
    paths: Hostile,
    headers: Vec<(HeaderName, Hostile)>,
    bodies: Hostile,
    tokens: Vec<String>,
    key: bool,
}

impl Requests {
    fn new(paths: &[&str], bodies: &[String], tokens: Vec<String>, key: bool, seed: u64) -> Self {
        let headers = HEADERS
            .iter()
            .map(|(name, samples)| (HeaderName::from_static(name), Hostile::new(samples, seed)))
            .collect();
        Self { paths: Hostile::new(paths, seed), headers, bodies: Hostile::new(bodies, seed), tokens, key }
    }

    fn next(&mut self) -> TestRequest {
        let method = METHODS[self.paths.below(METHODS.len())];
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let uri = loop {
            // The head parser rejects invalid request targets before they get here.
            if let Ok(uri) = Uri::try_from(self.paths.bytes()) {
                break uri;
            }
        };
        let mut request = TestRequest::default().method(method).uri(&uri.to_string());
        for (name, values) in &mut self.headers {
            for _ in 0..values.below(8).saturating_sub(5) {
                if let Ok(value) = HeaderValue::from_bytes(values.bytes()) {
                    request = request.append_header((name.clone(), value));
                }
            }
        }
        if self.paths.below(2) == 0 && !self.tokens.is_empty() {
            let token = self.tokens[self.paths.below(self.tokens.len())].as_str();
            request = request.insert_header(("token", token));
        }
        if self.key && self.paths.below(8) > 0 {
            request = request.insert_header(("authorization", format!("Bearer {KEY}")));
        }
        if self.paths.below(2) == 0 {
            request = request.set_payload(self.bodies.bytes().to_vec());
        }
        request
    }
}

/// Asserts what holds for every response, whatever the request. Returns its status.
async fn assert_response<S, R>(app: &S, request: R, what: &str) -> u16
where
    S: ActixService<R, Response = ServiceResponse<BoxBody>, Error = Error>,
{
    let response = match try_call_service(app, request).await {
        Ok(response) => response.into_parts().1,
        Err(error) => error.error_response(),
    };
    let status = response.status().as_u16();
    assert_ne!(status, 500, "{what}");
    let id = response.headers().get("x-request-id").map(HeaderValue::len);
    assert!(id.is_some_and(|length| (1..=64).contains(&length)), "{status} without a name: {what}");
    let form = response.headers().get("content-type").map(|form| form.to_str().unwrap().to_owned());
    let stream = form.as_deref().is_some_and(|form| form.starts_with("text/event-stream"));
    // A stream has no end.
    let body = if stream { None } else { Some(to_bytes(response.into_body()).await.unwrap()) };
    match (form, body) {
        (Some(form), Some(body)) if form == "application/json" && !body.is_empty() => {
            let json: Value = serde_json::from_slice(&body).unwrap();
            let is_envelope =
                json["code"] == status && json["message"].is_string() && json.get("data").is_some();
            assert!(is_envelope || json.get("openapi").is_some(), "{what}: {json}");
        }
        (Some(form), _) => {
            let other = WITHOUT_ENVELOPE.iter().any(|known| form.starts_with(known));
            assert!(form == "application/json" || (other && status == 200), "{what}: {status} {form}");
        }
        // 204 or 304.
        (None, body) => assert!(
            matches!(status, 204 | 304) && body.is_some_and(|body| body.is_empty()),
            "{what}: {status}"
        ),
    }
    status
}

/// Returns the resident memory of this process, in KiB. `None` on systems other than Linux.
fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[actix_web::test]
async fn hostile_requests_get_an_envelope_and_never_a_500() {
    let service = Service::with(|plan| {
        plan.public.sign_out = true;
        plan.public.refused_codes_per_minute = std::num::NonZeroU32::MAX;
    })
    .await;
    let (public, management) =
        (init_service(service.api.app()).await, init_service(service.management.app()).await);
    for (path, body, _) in sample::everything_put() {
        assert_eq!(service.manage(companion_testkit::api::request::put(path, &body)).await.status, 200);
    }
    let guilds = vec![a_membership(7)];
    let mut tokens = vec![service.signed_in(guilds).await];
    tokens.extend([tokens[0][..40].to_owned(), format!("{}A", tokens[0])]);
    let bodies: Vec<_> = sample::everything_put()
        .iter()
        .map(|(_, body, _)| body.clone())
        .chain([json!([sample::team_member("5", "Support")]), sample::heartbeat("0", 1.5, 2.0)])
        .map(|body| body.to_string())
        .chain([sample::world().iter().map(|line| format!("{line}\n")).collect()])
        .collect();
    let paths = ["/", "/guilds", "/auth", "/feedback", "/team", "/team?x=1", "/nothing", "//", "/guilds/"];
    let mut asked = Requests::new(&paths, &bodies, tokens.clone(), false, 1);
    let more = [
        "/health/live",
        "/health/ready",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/bot/team",
        "/bot/blocked/6",
        "/bot/clusters/east/heartbeat",
        "/bot/sync?replace=all",
        "/bot/sync?shard=0&shards=2&replace=guilds,members",
        "/bot/changes?kinds=guild,member&since=1",
        "/users/5",
        "/users/5/sessions",
        "/sessions?user=1",
        "/sessions/0000",
        "/sessions/sign-out",
    ];
    let everything = sample::everything_put();
    let managed_paths: Vec<_> = everything.iter().map(|(path, ..)| *path).chain(more).collect();
    let mut managed = Requests::new(&managed_paths, &bodies, tokens, true, 2);
    let requests = count(2000, 10_000_000);
    let (mut statuses, mut before) = (std::collections::BTreeMap::<u16, u64>::new(), None);
    for number in 0..requests {
        if number == requests / 10 {
            before = resident_memory();
        }
        let status = if number % 2 == 0 {
            let code = (number % 64 == 0).then(|| service.code_again(UserId::new(1).unwrap()));
            let request = asked.next();
            let request = match code {
                Some(code) => request.method(Method::POST).uri("/auth").insert_header(("idp-code", code)),
                None => request,
            };
            assert_response(&public, request.to_request(), &format!("public request {number}")).await
        } else {
            assert_response(&management, managed.next().to_request(), &format!("management request {number}"))
                .await
        };
        *statuses.entry(status).or_default() += 1;
    }
    // A valid request is still answered after all of that.
    let (code, user) = (service.code_of(a_user(77), Vec::new()), "77");
    let session = service.call(companion_testkit::api::service::post_code(&code)).await.data();
    assert_eq!(session["user"]["id"], user);
    let after = resident_memory();
    println!(
        "hostile: {requests} requests in process, statuses {statuses:?}, {before:?} KiB before and {after:?} after"
    );
    if let (Some(before), Some(after)) = (before, after) {
        // Codes kept by the in-memory platform are not part of the service.
        assert!(after < before + before / 4 + (64 << 10), "{before} KiB, then {after}");
    }
}
