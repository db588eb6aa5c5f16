//! Every fault of the platform, and the resulting error. Every secret contains a canary, and all output is searched for
//! it.

use crate::stage::{CLIENT, Stage, exchange_of, kind, provider, secret, settings, user_id};
use companion_dev_identity::{DripPart, ErrorBody, Fault, Route};
use companion_domain::port::{
    CodeExchange, IdentityError, IdentityErrorKind as Kind, IdentityErrorKind, IdentityProvider as _,
};
use companion_identity_oauth2::{BreakerRules, OauthIdentity};
use serde_json::json;
use std::{
    error::Error as _,
    fmt::Write as _,
    net::TcpListener,
    sync::Arc,
    time::{Duration, Instant},
};

/// Deadline of a call to a platform that never answers.
const CALL: Duration = Duration::from_millis(300);
/// Generous, for a busy machine: only that the call ends matters.
const AT_MOST: Duration = Duration::from_secs(5);

/// A platform that may fail any number of times.
fn stage() -> Stage {
    Stage::with(|settings| {
        settings.limits.breaker = BreakerRules {
            failures: u32::MAX,
            within: Duration::from_secs(1),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(1),
        };
    })
}

/// More than can arrive before any deadline, so that only the size limit can end the call.
const ENDLESS: u64 = 1 << 40;

/// Every fault except redirects, with the error kind that the caller sees.
fn faults() -> Vec<(Fault, Kind)> {
    let every = Duration::from_millis(5);
    let drip = |part| Fault::Drip { part, every };
    let huge = |announced| Fault::Huge { bytes: ENDLESS, announced };
    let status = |status, body| Fault::Status { status, body };
    let limited = |retry_after, global| Fault::Limited { retry_after, global };
    vec![
        (Fault::Silent, Kind::TimedOut),
        (drip(DripPart::Head), Kind::TimedOut),
        (drip(DripPart::Body), Kind::TimedOut),
        (Fault::Closed, Kind::Failed),
        (Fault::Garbage, Kind::Failed),
        (Fault::Truncated, Kind::Failed),
        (Fault::NotJson, Kind::Failed),
        (Fault::WrongShape, Kind::Failed),
        (huge(true), Kind::Failed),
        (huge(false), Kind::Failed),
        (Fault::Bomb, Kind::Failed),
        (Fault::BanPage { status: 403 }, Kind::Failed),
        (Fault::BanPage { status: 429 }, Kind::Limited(Duration::from_secs(60))),
        (status(400, ErrorBody::Json), Kind::Failed),
        (status(404, ErrorBody::Html), Kind::Failed),
        (status(403, ErrorBody::Json), Kind::Failed),
        (status(500, ErrorBody::Json), Kind::Failed),
        (status(502, ErrorBody::Html), Kind::Failed),
        (status(503, ErrorBody::Empty), Kind::Failed),
        (limited(1.5, false), Kind::Limited(Duration::from_secs(2))),
        (limited(7.0, true), Kind::Limited(Duration::from_secs(7))),
        (Fault::OauthError { error: "invalid_client".to_owned() }, Kind::Failed),
        (Fault::OauthError { error: "unheard_of".to_owned() }, Kind::Failed),
    ]
}

/// Makes one call on the route.
async fn call(provider: &OauthIdentity, route: Route) -> Result<(), Kind> {
    let result = match route {
        Route::Token => provider.exchange(&exchange_of("a-code".parse().unwrap())).await.map(drop),
        Route::Revoke => provider.revoke(&secret("a-token")).await,
        Route::User => provider.user(CLIENT, &secret("a-token")).await.map(drop),
        Route::Guilds => provider.guilds(user_id(), &secret("a-token")).await.map(drop),
    };
    result.map_err(|error| error.kind)
}

async fn each_meets_its_kind_on(route: Route) {
    let stage = stage();
    let expected = |fault: &Fault, kind| match (route, fault) {
        // The body of a revocation response is not read.
        (Route::Revoke, Fault::NotJson | Fault::WrongShape) => Ok(()),
        // On routes with a token, 401 concerns the token.
        (Route::User | Route::Guilds, Fault::OauthError { error }) if error == "invalid_client" => {
            Err(Kind::TokenRefused)
        }
        _ => Err(kind),
    };
    for (fault, kind) in faults() {
        // A new provider for each fault, because its state would keep the next fault from being met.
        let provider =
            if kind == Kind::TimedOut { stage.impatient_provider(CALL) } else { stage.another_provider() };
        stage.control.fail(route, fault.clone());
        let begun = Instant::now();
        let (met, took, sent) = loop {
            let (calls, started) = (stage.control.calls(route), Instant::now());
            let met = call(&provider, route).await;
            let (took, sent) = (started.elapsed(), stage.control.calls(route) - calls);
            // On a stalled machine a short deadline can pass before the request arrives.
            if sent > 0 || met != Err(Kind::TimedOut) || begun.elapsed() > AT_MOST {
                break (met, took, sent);
            }
        };
        assert_eq!(met, expected(&fault, kind), "{route:?} {fault:?}");
        assert!(took < AT_MOST, "{route:?} {fault:?} took {took:?}");
        assert!(kind != Kind::TimedOut || took >= CALL, "{route:?} {fault:?} took {took:?}");
        // No request is sent twice.
        assert_eq!(sent, 1, "{route:?} {fault:?}");
        stage.control.clear_all();
    }
}

#[tokio::test]
async fn maps_every_fault_of_every_route_to_its_kind() {
    tokio::join!(
        each_meets_its_kind_on(Route::Token),
        each_meets_its_kind_on(Route::Revoke),
        each_meets_its_kind_on(Route::User),
        each_meets_its_kind_on(Route::Guilds),
    );
}

#[tokio::test]
async fn refused_connections_are_unreachable() {
    let mut stage = stage();
    stage.running.refuse_connections().await;
    for route in [Route::Token, Route::Revoke, Route::User, Route::Guilds] {
        assert_eq!(call(&stage.provider, route).await, Err(Kind::Unreachable));
    }
    stage.running.accept_again().unwrap();
    assert!(stage.exchange(stage.code().expose()).await.is_ok());
}

#[tokio::test]
async fn a_connect_timeout_is_unreachable() {
    // Once its queue is full, a listener that does not accept answers no connection attempt.
    let full = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = full.local_addr().unwrap();
    let queue: Vec<_> = (0..5000)
        .map_while(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok())
        .collect();
    assert!(queue.len() < 5000, "the queue never fills");
    let mut settings = settings(&format!("http://{address}"), "https://cdn.example");
    settings.deadlines.connect = Duration::from_millis(200);
    let provider = provider(&settings, &Arc::default());
    let started = Instant::now();
    assert_eq!(call(&provider, Route::User).await, Err(Kind::Unreachable));
    assert!(started.elapsed() < AT_MOST);
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let stage = stage();
    for route in [Route::Token, Route::Revoke, Route::User] {
        let to = format!("{}/users/@me/guilds", stage.running.api_url());
        stage.control.fail_times(route, Fault::Redirect { to }, 1);
        assert_eq!(call(&stage.provider, route).await, Err(Kind::Failed), "{route:?}");
    }
    assert_eq!(stage.control.calls(Route::Guilds), 0);
}

#[tokio::test]
async fn reads_a_response_up_to_the_size_limit() {
    let stage = Stage::with(|settings| settings.limits.max_response_bytes = 1000);
    let padded = |size: usize| {
        let json =
            |padding: usize| serde_json::json!({"id": "7", "username": "s", "padding": "x".repeat(padding)});
        let bare = json(0).to_string().len();
        Fault::Body { status: 200, json: json(size - bare) }
    };
    stage.control.fail_times(Route::User, padded(1000), 1);
    assert!(stage.provider.user(CLIENT, &secret("any")).await.is_ok());
    stage.control.fail_times(Route::User, padded(1001), 1);
    assert_eq!(kind(stage.provider.user(CLIENT, &secret("any")).await), Kind::Failed);
}

#[tokio::test]
async fn reads_oauth_errors_only_from_status_400() {
    let stage = stage();
    let json = serde_json::json!({"error": "invalid_grant"});
    for (status, kind) in
        [(400, Kind::BadGrant), (403, Kind::Failed), (302, Kind::Failed), (500, Kind::Failed)]
    {
        let json = json.clone();
        stage.control.fail_times(Route::Token, Fault::Body { status, json }, 1);
        assert_eq!(call(&stage.provider, Route::Token).await, Err(kind), "{status}");
    }
}

const CANARY: &str = "c4n4ry";

fn canary(number: usize) -> String {
    format!("{CANARY}-{number}-0123456789-0123456789-0123456789-0123456789")
}

/// Returns all output of an error.
fn words(error: &IdentityError) -> String {
    let mut words = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(words, " {cause} {cause:?} {cause:#?}");
        source = cause.source();
    }
    words
}

/// Responses that repeat the canary.
fn responses_with_canary() -> Vec<Fault> {
    let text = canary(0);
    vec![
        Fault::Body {
            status: 200,
            json: json!({"access_token": 5, "token_type": text, "id": text, "username": [text]}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": text, "token_type": text, "id": text, "username": text}),
        },
        Fault::Body {
            status: 200,
            json: json!({"access_token": format!("{text}\n"), "token_type": "bearer"}),
        },
        Fault::Body { status: 200, json: json!([{"id": text, "permissions": text, "owner": text}]) },
        Fault::Body { status: 200, json: json!(text) },
        Fault::OauthError { error: text.clone() },
        Fault::Redirect { to: format!("http://127.0.0.1:9/?{text}") },
    ]
}

#[tokio::test]
async fn no_error_shows_a_code_a_token_or_a_secret() {
    let stage = Stage::with(|settings| {
        settings.client_secret = secret(&canary(1));
        settings.deadlines.call = Duration::from_millis(200);
    });
    let verifier = Some(canary(3).parse().unwrap());
    let exchange = CodeExchange { verifier, ..exchange_of(canary(2).parse().unwrap()) };
    let token = secret(&canary(4));
    let mut said = String::new();
    let mut errors = 0;
    let others = faults().into_iter().map(|(fault, _)| fault);
    for fault in responses_with_canary().into_iter().chain(others) {
        for route in [Route::Token, Route::Revoke, Route::User, Route::Guilds] {
            stage.control.fail(route, fault.clone());
        }
        let provider = stage.another_provider();
        let results = [
            provider.exchange(&exchange).await.map(drop),
            provider.refresh(user_id(), &token).await.map(drop),
            provider.user(CLIENT, &token).await.map(drop),
            provider.guilds(user_id(), &token).await.map(drop),
            provider.revoke(&token).await,
        ];
        for error in results.into_iter().filter_map(Result::err) {
            said += &words(&error);
            errors += 1;
        }
        let _ = write!(said, "{provider:?} {:?}", provider.statistics());
        stage.control.clear_all();
    }
    assert!(errors > 60, "{errors}");
    let mut stage = stage;
    stage.running.refuse_connections().await;
    let unreachable = stage.another_provider().exchange(&exchange).await.unwrap_err();
    assert_eq!(unreachable.kind, IdentityErrorKind::Unreachable);
    said += &words(&unreachable);
    let _ = write!(said, "{:?} {exchange:?} {token:?}", stage.settings);
    assert!(said.contains("refused") && !said.contains(CANARY), "{said}");
    // The URL is not shown either, because it can reveal as much as the body.
    assert!(!said.contains("/oauth2/token") && !said.contains("/users/"), "{said}");
}
