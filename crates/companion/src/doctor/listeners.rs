//! Checks of a running service: its listeners, and the proxies in front of it.

use super::{
    DEADLINE,
    check::{Check, Installation, Subject},
    json, send,
};
use crate::configuration::ListenAddress;
use reqwest::Client;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tokio::{net::TcpStream, time::timeout};

const PUBLIC: Subject = Subject::new("public listener", "http.listen");
const MANAGEMENT: Subject = Subject::new("management listener", "management.listen");
const DASHBOARD: Subject = Subject::new("dashboard listener", "dashboard.listen");
const ANOTHER_PROGRAM: &str = "stop that program, or give this listener another port";

/// Asks all listeners. Returns the checks, and the URL at which the public API answers.
pub(super) async fn ask(installation: &Installation, client: &Client) -> (Vec<Check>, Option<String>) {
    let configuration = &installation.configuration;
    let scheme = if configuration.http.tls_certificate.is_some() { "https" } else { "http" };
    let probe = async |subject: Subject, scheme: &str, listen: &ListenAddress, path: &str, judge: Judge| {
        let found = match installation.needs(subject, &[subject.key]) {
            Err(skipped) => Found::Skipped(skipped),
            Ok(()) if listen.port == 0 => {
                Found::Skipped(subject.skipped("its port is 0, so the address is unknown"))
            }
            Ok(()) => find(client, &address(scheme, listen), listen, path, judge).await,
        };
        (subject, listen.clone(), found)
    };
    let listen = configuration.dashboard.listen.as_ref();
    let (public, management, dashboard) = tokio::join!(
        probe(PUBLIC, scheme, &configuration.http.listen, "/", is_status),
        probe(MANAGEMENT, "http", &configuration.management.listen, "/health/ready", is_readiness),
        async { Some(probe(DASHBOARD, scheme, listen?, "/", is_anything).await) },
    );
    let url = matches!(public.2, Found::Answer(Ok(_)));
    let url = url.then(|| address(scheme, &configuration.http.listen));
    let found: Vec<_> = [public, management].into_iter().chain(dashboard).collect();
    // If the service answers on no listener, it is not running, which is no failure.
    let runs = found
        .iter()
        .any(|(subject, _, found)| matches!(found, Found::Answer(_)) && subject.key != DASHBOARD.key)
        || found.iter().all(|(.., found)| matches!(found, Found::Answer(_) | Found::Skipped(_)));
    let checks = found.into_iter().map(|(subject, listen, found)| check_of(subject, &listen, found, runs));
    (checks.collect(), url)
}

/// What answers on an address.
enum Found {
    Skipped(Check),
    Nothing(String),
    /// The reason why it is not the service, or why the service is not well.
    AnotherProgram(Option<String>),
    /// The service. On [`DASHBOARD`] it may be another site: a page of the dashboard cannot be told from theirs.
    Answer(Judgement),
}

/// A phrase about a service that is well, or problem and fix.
type Judgement = Result<String, (String, &'static str)>;

/// Judges a response by its status and body. Returns `None` if another program answered.
type Judge = fn(u16, &Value) -> Option<Judgement>;

async fn find(client: &Client, url: &str, listen: &ListenAddress, path: &str, judge: Judge) -> Found {
    match send(client.get(format!("{url}{path}"))).await {
        Err(why) if accepts_connections(listen).await => Found::AnotherProgram(Some(why)),
        Err(why) => Found::Nothing(why),
        Ok(answer) => {
            let status = answer.status().as_u16();
            let judged = judge(status, &json(answer).await);
            judged.map_or(Found::AnotherProgram(None), Found::Answer)
        }
    }
}

fn check_of(subject: Subject, listen: &ListenAddress, found: Found, runs: bool) -> Check {
    match found {
        Found::Skipped(check) => check,
        Found::Nothing(_) if !runs => subject.skipped("no service runs here"),
        Found::Nothing(why) => subject.failed(
            format!("no answer on {listen}: {why}"),
            "the service runs with another address: restart it with this configuration, or run doctor with its own",
        ),
        Found::AnotherProgram(why) => {
            let how = why.map(|why| format!(", or the service does not answer as it should: {why}"));
            let cause = format!("another program listens on {listen}{}", how.unwrap_or_default());
            subject.failed(cause, ANOTHER_PROGRAM)
        }
        Found::Answer(_) if !runs => {
            subject.failed("another program answers there, as the service does not run", ANOTHER_PROGRAM)
        }
        Found::Answer(Ok(cause)) => subject.ok(format!("{listen} {cause}")),
        Found::Answer(Err((cause, remedy))) => subject.failed(format!("{listen} {cause}"), remedy),
    }
}

/// Whether the port accepts connections, whatever the protocol.
async fn accepts_connections(listen: &ListenAddress) -> bool {
    let connecting = TcpStream::connect(listen.reachable().to_string());
    matches!(timeout(DEADLINE, connecting).await, Ok(Ok(_)))
}

fn is_status(status: u16, body: &Value) -> Option<Judgement> {
    match (status, body.pointer("/data/version/name")) {
        (200, Some(Value::String(version))) => Some(Ok(format!("is answered by version {version}"))),
        _ => None,
    }
}

fn is_readiness(status: u16, body: &Value) -> Option<Judgement> {
    match (status, body.get("message").and_then(Value::as_str)) {
        (200, Some(_)) => Some(Ok("is answered, and the service is ready".to_owned())),
        (503, Some(why)) => Some(Err((format!("says that the service is not ready: {why}"), "see its log"))),
        _ => None,
    }
}

fn is_anything(status: u16, _: &Value) -> Option<Judgement> {
    Some(match status {
        500.. => Err((format!("answers with {status}"), "see the log of the service")),
        _ => Ok("is answered".to_owned()),
    })
}

/// Returns the base URL for a local client.
fn address(scheme: &str, listen: &ListenAddress) -> String {
    format!("{scheme}://{}", listen.reachable())
}

const PROXIES: Subject = Subject::new("trusted proxies", "http.trusted_proxies");
/// Documentation addresses, which belong to no proxy.
const DOCUMENTATION_ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7))];

pub(super) fn check(installation: &Installation) -> Check {
    if let Err(skipped) = installation.needs(PROXIES, &["http.trusted_proxies", "http.listen"]) {
        return skipped;
    }
    let http = &installation.configuration.http;
    let trusted = |address: IpAddr| http.trusted_proxies.iter().any(|range| range.has(address));
    if DOCUMENTATION_ADDRESSES.into_iter().any(trusted) {
        return PROXIES.failed(
            "everyone is trusted, so anyone can name any address as theirs, and no limit holds",
            "list the addresses of your own proxies only",
        );
    }
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    if http.listen.is_loopback() && !loopback.into_iter().any(trusted) {
        return PROXIES.warning(
            format!(
                "{} is reached from this machine only, so visitors come through a proxy that is not trusted: \
                     to the limits all of them are one",
                http.listen
            ),
            "set http.trusted_proxies = [\"127.0.0.1\"], and let the proxy append to X-Forwarded-For",
        );
    }
    match http.trusted_proxies.len() {
        0 => PROXIES.ok("none, so visitors are known by the address of their connection"),
        1 => PROXIES.ok("1 range is trusted"),
        count => PROXIES.ok(format!("{count} ranges are trusted")),
    }
}
