//! Requests to both APIs, in process: valid ones, damaged ones, and all in between.

use super::memory;
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
use companion_domain::model::UserId;
use companion_testkit::{
    api::{
        sample,
        service::{DASHBOARD, KEY, Service},
    },
    hostile::{Hostile, count},
    world::{a_membership, a_user},
};
use serde_json::{Value, json};

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get"];
/// What both APIs read from heads, and some that they must not mind.
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
/// What has another form than the envelope.
const WITHOUT_ENVELOPE: [&str; 3] = ["text/html", "text/plain", "text/event-stream"];

/// What is sent, and how it is damaged.
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
            // What is no address ends in the parser of heads.
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

/// What every answer has, whatever was asked. Gives its status.
async fn judged<S, R>(app: &S, request: R, what: &str) -> u16
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
        // No content, or not modified.
        (None, body) => assert!(
            matches!(status, 204 | 304) && body.is_some_and(|body| body.is_empty()),
            "{what}: {status}"
        ),
    }
    status
}

#[actix_web::test]
async fn hostile_requests_get_an_envelope_and_a_name_and_never_our_fault() {
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
    let managed_paths = [
        "/health/live",
        "/health/ready",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/bot/guilds/7",
        "/bot/guilds/7/members/5",
        "/bot/plus/5",
        "/bot/staff/5",
        "/bot/team",
        "/bot/feedback/a-Z_9",
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
    let mut managed = Requests::new(&managed_paths, &bodies, tokens, true, 2);
    let requests = count(2000, 10_000_000);
    let (mut statuses, mut before) = (std::collections::BTreeMap::<u16, u64>::new(), None);
    for number in 0..requests {
        if number == requests / 10 {
            before = memory::resident();
        }
        let status = if number % 2 == 0 {
            let code = (number % 64 == 0).then(|| service.code_again(UserId::new(1).unwrap()));
            let request = asked.next();
            let request = match code {
                Some(code) => request.method(Method::POST).uri("/auth").insert_header(("idp-code", code)),
                None => request,
            };
            judged(&public, request.to_request(), &format!("public request {number}")).await
        } else {
            judged(&management, managed.next().to_request(), &format!("management request {number}")).await
        };
        *statuses.entry(status).or_default() += 1;
    }
    // Whatever came, a proper request is still answered properly.
    let (code, user) = (service.code_of(a_user(77), Vec::new()), "77");
    let session = service.call(companion_testkit::api::service::post_code(&code)).await.data();
    assert_eq!(session["user"]["id"], user);
    let after = memory::resident();
    println!(
        "hostile: {requests} requests in process, statuses {statuses:?}, {before:?} KiB before and {after:?} after"
    );
    if let (Some(before), Some(after)) = (before, after) {
        // What the platform in memory keeps of its codes is no part of the service.
        assert!(after < before + before / 4 + (64 << 10), "{before} KiB, then {after}");
    }
}
