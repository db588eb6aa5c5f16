//! Checks whether browsers let the pages of each allowed origin call the public API, with real CORS preflights.

use super::{
    DEADLINE,
    check::{Check, Installation, Subject},
    send,
};
use companion_http::Origin;
use reqwest::{Client, Method, Response};
use tokio::time::{Instant, timeout_at};

const PREFLIGHT: Subject = Subject::new("preflight", "http.allowed_origins");

pub(super) async fn check(installation: &Installation, public: Option<&str>, client: &Client) -> Vec<Check> {
    if let Err(skipped) = installation.needs(PREFLIGHT, &["http.allowed_origins", "http.listen"]) {
        return vec![skipped];
    }
    let origins = &installation.configuration.http.allowed_origins;
    if origins.is_empty() {
        return vec![PREFLIGHT.skipped("no origin is allowed, so only backends can call the public API")];
    }
    let Some(public) = public else {
        return vec![PREFLIGHT.skipped("cannot be told before a service answers on http.listen")];
    };
    // One deadline for all origins, however many there are.
    let until = Instant::now() + DEADLINE;
    let mut checks = Vec::new();
    for origin in origins {
        let asked = timeout_at(until, ask(origin, public, client)).await;
        checks.push(asked.unwrap_or_else(|_| unanswered(origin, "it took too long")));
    }
    checks
}

async fn ask(origin: &Origin, public: &str, client: &Client) -> Check {
    let request = client.request(Method::OPTIONS, format!("{public}/auth"));
    let request = request.header("origin", origin.as_str()).header("access-control-request-method", "POST");
    match send(request.header("access-control-request-headers", "idp-code")).await {
        Ok(answer) if allows(&answer, origin) => PREFLIGHT.ok(format!("{origin} may sign users in")),
        Ok(_) => PREFLIGHT.failed(
            format!("the running service does not let {origin} in"),
            "restart the service: it runs with an older configuration",
        ),
        Err(why) => unanswered(origin, &why),
    }
}

fn unanswered(origin: &Origin, why: &str) -> Check {
    PREFLIGHT.failed(format!("no answer to {origin}: {why}"), "see the log of the service")
}

fn allows(answer: &Response, origin: &Origin) -> bool {
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let lists =
        |name, wanted: &str| header(name).split(',').any(|one| one.trim().eq_ignore_ascii_case(wanted));
    answer.status().is_success()
        && header("access-control-allow-origin") == origin.as_str()
        && lists("access-control-allow-methods", "POST")
        && lists("access-control-allow-headers", "idp-code")
}
