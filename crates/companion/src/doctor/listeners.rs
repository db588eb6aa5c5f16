//! Checks of a running service: its listeners, and the proxies in front of it.

use super::{
    DEADLINE, HttpClient,
    check::{Check, Installation, Status, Subject},
};
use crate::configuration::ListenAddress;
use reqwest::{Method, Response};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tokio::{net::TcpStream, time::timeout};

const PUBLIC: Subject = Subject::new("public listener", "http.listen");
const MANAGEMENT: Subject = Subject::new("management listener", "management.listen");
const DASHBOARD: Subject = Subject::new("dashboard listener", "dashboard.listen");

/// The results of all listeners.
pub(super) struct Listeners {
    pub(super) checks: Vec<Check>,
    /// The URL at which the public API answers.
    pub(super) public: Option<String>,
}

pub(super) async fn ask(installation: &Installation, client: &HttpClient) -> Listeners {
    let configuration = &installation.configuration;
    let scheme = if configuration.http.tls_certificate.is_some() { "https" } else { "http" };
    let dashboard = async {
        match &configuration.dashboard.listen {
            Some(listen) => {
                Some(probe(installation, client, DASHBOARD, (scheme, listen), "/", is_anything).await)
            }
            None => None,
        }
    };
    let (public, management, dashboard) = tokio::join!(
        probe(installation, client, PUBLIC, (scheme, &configuration.http.listen), "/", is_status),
        probe(
            installation,
            client,
            MANAGEMENT,
            ("http", &configuration.management.listen),
            "/health/ready",
            is_readiness
        ),
        dashboard,
    );
    let found: Vec<_> = [public, management].into_iter().chain(dashboard).collect();
    // If the service answers on no listener, it is not running, which is no failure.
    let is_skipped = |listener: &Listener| listener.check.status == Status::Skipped;
    let runs = found.iter().any(|listener| listener.answerer == Answerer::Service)
        || found.iter().all(|listener| listener.answerer == Answerer::AnySite || is_skipped(listener));
    let is_well =
        |listener: &Listener| listener.subject.key == PUBLIC.key && listener.check.status == Status::Ok;
    Listeners {
        public: found.iter().any(is_well).then(|| address(scheme, &configuration.http.listen)),
        checks: found.into_iter().map(|listener| listener.into_check(runs)).collect(),
    }
}

/// The result of one listener.
struct Listener {
    subject: Subject,
    check: Check,
    answerer: Answerer,
}

/// What answers on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answerer {
    Service,
    AnotherProgram,
    /// Unknown: a page of the dashboard cannot be told from that of another site.
    AnySite,
    Nothing,
}

impl Listener {
    fn another_program(subject: Subject, listen: &ListenAddress, how: &str) -> Self {
        let cause = format!("another program listens on {listen}{how}");
        let check = subject.failed(cause, "stop that program, or give this listener another port");
        Self { subject, check, answerer: Answerer::AnotherProgram }
    }

    fn into_check(self, runs: bool) -> Check {
        match (self.answerer, self.check.status) {
            (Answerer::Nothing, Status::Failed) if !runs => self.subject.skipped("no service runs here"),
            (Answerer::AnySite, _) if !runs => self.subject.failed(
                "another program answers there, as the service does not run",
                "stop that program, or give this listener another port",
            ),
            _ => self.check,
        }
    }
}

/// Judges a response by its status and body. `Ok` if the service is well, `Err` with problem and fix otherwise, `None`
/// if another program answered.
type Judge = fn(u16, &Value) -> Option<Result<String, (String, String)>>;

async fn probe(
    installation: &Installation,
    client: &HttpClient,
    subject: Subject,
    (scheme, listen): (&str, &ListenAddress),
    path: &str,
    judge: Judge,
) -> Listener {
    if let Err(check) = installation.needs(subject, &[subject.key]) {
        return Listener { subject, check, answerer: Answerer::Nothing };
    }
    if listen.port == 0 {
        let check = subject.skipped("its port is 0, so the address is unknown");
        return Listener { subject, check, answerer: Answerer::Nothing };
    }
    let url = format!("{}{path}", address(scheme, listen));
    match client.ask(Method::GET, &url, &[], String::new()).await {
        Err(why) if accepts_connections(listen).await => Listener::another_program(
            subject,
            listen,
            &format!(", or the service does not answer as it should: {why}"),
        ),
        Err(why) => {
            let check = subject.failed(
                format!("no answer on {listen}: {why}"),
                "the service runs with another address: restart it with this configuration, or run doctor with its own",
            );
            Listener { subject, check, answerer: Answerer::Nothing }
        }
        Ok(answer) => {
            let (status, body) = read(answer).await;
            let Some(found) = judge(status, &body) else {
                return Listener::another_program(subject, listen, "");
            };
            let check = match found {
                Ok(cause) => subject.ok(format!("{listen} {cause}")),
                Err((cause, remedy)) => subject.failed(format!("{listen} {cause}"), remedy),
            };
            let is_site = subject.key == DASHBOARD.key;
            let answerer = if is_site { Answerer::AnySite } else { Answerer::Service };
            Listener { subject, check, answerer }
        }
    }
}

/// Whether the port accepts connections, whatever the protocol.
async fn accepts_connections(listen: &ListenAddress) -> bool {
    let connecting = TcpStream::connect(listen.reachable().to_string());
    matches!(timeout(DEADLINE, connecting).await, Ok(Ok(_)))
}

async fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let body = answer.bytes().await.ok().and_then(|body| serde_json::from_slice(&body).ok());
    (status, body.unwrap_or_default())
}

fn is_status(status: u16, body: &Value) -> Option<Result<String, (String, String)>> {
    match (status, body.pointer("/data/version/name")) {
        (200, Some(Value::String(version))) => Some(Ok(format!("is answered by version {version}"))),
        _ => None,
    }
}

fn is_readiness(status: u16, body: &Value) -> Option<Result<String, (String, String)>> {
    match (status, body.get("message").and_then(Value::as_str)) {
        (200, Some(_)) => Some(Ok("is answered, and the service is ready".to_owned())),
        (503, Some(why)) => {
            Some(Err((format!("says that the service is not ready: {why}"), "see its log".to_owned())))
        }
        _ => None,
    }
}

fn is_anything(status: u16, _: &Value) -> Option<Result<String, (String, String)>> {
    Some(match status {
        500.. => Err((format!("answers with {status}"), "see the log of the service".to_owned())),
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
