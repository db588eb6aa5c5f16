//! Checks whether the platform is reachable, and compares its clock with ours.

use super::{
    check::{Check, Installation, Subject},
    report::length,
    send,
};
use crate::system::SystemClock;
use companion_domain::{model::Timestamp, port::Clock as _};
use reqwest::{Client, Response, StatusCode};
use std::time::{Duration, UNIX_EPOCH};

const PROVIDER: Subject = Subject::new("provider", "identity.api_url");

/// Returns the check if no HTTP client can be created.
pub(super) fn without_client(why: &str) -> Check {
    PROVIDER.failed(format!("no request can be sent: {why}"), "check the certificates of this machine")
}

/// Requests the token endpoint in a way that changes nothing and does not count as an invalid request.
pub(super) async fn ask(installation: &Installation, client: &Client) -> (Check, Option<Response>) {
    if let Err(skipped) = installation.needs(PROVIDER, &["identity.api_url"]) {
        return (skipped, None);
    }
    let api = installation.configuration.identity.api_url.as_str().trim_end_matches('/');
    let answer = send(client.get(format!("{api}/oauth2/token"))).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            let cause = format!("{api} cannot be reached: {why}");
            let remedy =
                "check the address, name resolution, and that this machine may connect to the platform";
            // An installation without sign-in does not need the platform.
            let is_needed = installation.configuration.identity.client_id.is_some();
            return match is_needed {
                true => (PROVIDER.failed(cause, remedy), None),
                false => (PROVIDER.warning(cause, remedy), None),
            };
        }
    };
    let check = match answer.status() {
        StatusCode::TOO_MANY_REQUESTS => PROVIDER.warning(
            format!("{api} answers, and limits this address"),
            "wait; if that stays so, see \"When the platform refuses\" in docs/operate.md",
        ),
        StatusCode::FORBIDDEN => PROVIDER.failed(
            format!("{api} turns this address away (403)"),
            "the address may be banned for a while: see \"When the platform refuses\" in docs/operate.md",
        ),
        status if status.is_server_error() => PROVIDER.failed(
            format!("{api} answers with {}", status.as_u16()),
            "wait until the platform is well again",
        ),
        _ => PROVIDER.ok(format!("{api} answers")),
    };
    (check, Some(answer))
}

/// No key controls the clock, but session lifetimes depend on it.
const CLOCK: Subject = Subject::new("clock", "sessions.lifetime");
/// Tolerated difference. The `Date` header has a resolution of one second, and a response takes a moment.
const TOLERANCE: Duration = Duration::from_secs(30);

/// Compares the clock of this machine with the platform's.
pub(super) fn check_clock(answer: Option<&Response>) -> Check {
    let date = answer.and_then(|answer| answer.headers().get("date")?.to_str().ok());
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let Some(since) = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok()) else {
        return CLOCK.skipped("cannot be told before the provider answers");
    };
    let theirs = Timestamp::EPOCH.after(since);
    let ours = SystemClock.now();
    let (ahead, behind) = (ours.since(theirs), theirs.since(ours));
    let off = ahead.max(behind);
    if off < TOLERANCE {
        return CLOCK.ok("it agrees with the platform's");
    }
    let side = if ahead > behind { "ahead of" } else { "behind" };
    let cause = format!("it is {} {side} the platform's", length(off));
    let remedy = "let the system keep its time, for instance with timedatectl set-ntp true";
    // Nodes accept each other's timestamps up to this difference.
    if theirs.horizon().since(theirs) < off {
        CLOCK.failed(cause, remedy)
    } else {
        CLOCK.warning(cause, remedy)
    }
}
