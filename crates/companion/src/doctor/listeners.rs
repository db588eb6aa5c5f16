//! Whether a service runs, and answers on all of its listeners.

use super::{
    check::{Check, Status, Subject},
    installation::Installation,
    question::Asker,
};
use crate::configuration::ListenAddress;
use reqwest::{Method, Response};
use serde_json::Value;

const PUBLIC: Subject = Subject::new("public listener", "http.listen");
const MANAGEMENT: Subject = Subject::new("management listener", "management.listen");
const DASHBOARD: Subject = Subject::new("dashboard listener", "dashboard.listen");

/// What was found on the listeners.
pub(super) struct Listeners {
    pub(super) checks: Vec<Check>,
    /// Where the public API answers.
    pub(super) public: Option<String>,
}

pub(super) async fn ask(installation: &Installation, asker: &Asker) -> Listeners {
    let configuration = &installation.configuration;
    let scheme = if configuration.http.tls_certificate.is_some() { "https" } else { "http" };
    let dashboard = async {
        match &configuration.dashboard.listen {
            Some(listen) => {
                Some(look(installation, asker, DASHBOARD, (scheme, listen), "/", is_anything).await)
            }
            None => None,
        }
    };
    let (public, management, dashboard) = tokio::join!(
        look(installation, asker, PUBLIC, (scheme, &configuration.http.listen), "/", is_status),
        look(
            installation,
            asker,
            MANAGEMENT,
            ("http", &configuration.management.listen),
            "/health/ready",
            is_readiness
        ),
        dashboard,
    );
    let found: Vec<_> = [public, management].into_iter().chain(dashboard).collect();
    // Where nobody answers anywhere, no service runs, and that is no failure of its listeners.
    let runs = found.iter().any(|listener| listener.answered);
    let is_well =
        |listener: &Listener| listener.subject.key == PUBLIC.key && listener.check.status == Status::Ok;
    Listeners {
        public: found.iter().any(is_well).then(|| address(scheme, &configuration.http.listen)),
        checks: found.into_iter().map(|listener| listener.judged(runs)).collect(),
    }
}

/// What was found on one of them.
struct Listener {
    subject: Subject,
    check: Check,
    /// Whether anyone answered.
    answered: bool,
}

impl Listener {
    fn judged(self, runs: bool) -> Check {
        match self.check.status {
            Status::Failed if !runs => self.subject.skipped("no service runs here"),
            Status::Failed | Status::Skipped | Status::Ok | Status::Warning => self.check,
        }
    }
}

/// What an answer says, by its status and its body: that it is ours, or what is wrong and what to do.
type Judge = fn(u16, &Value) -> Result<String, (String, String)>;

async fn look(
    installation: &Installation,
    asker: &Asker,
    subject: Subject,
    (scheme, listen): (&str, &ListenAddress),
    path: &str,
    judge: Judge,
) -> Listener {
    if let Err(check) = installation.needs(subject, &[subject.key]) {
        return Listener { subject, check, answered: false };
    }
    if listen.port == 0 {
        let check = subject.skipped("it has port 0, so nobody can know where to ask");
        return Listener { subject, check, answered: false };
    }
    let url = format!("{}{path}", address(scheme, listen));
    match asker.ask(Method::GET, &url, &[], String::new()).await {
        Err(why) => {
            let check = subject.failed(
                format!("nobody answers on {listen}: {why}"),
                "the service runs with another address: restart it with this configuration, or run doctor with its own",
            );
            Listener { subject, check, answered: false }
        }
        Ok(answer) => {
            let (status, body) = read(answer).await;
            let check = match judge(status, &body) {
                Ok(cause) => subject.ok(format!("{listen} {cause}")),
                Err((cause, remedy)) => subject.failed(format!("{listen} {cause}"), remedy),
            };
            Listener { subject, check, answered: true }
        }
    }
}

async fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let body = answer.bytes().await.ok().and_then(|body| serde_json::from_slice(&body).ok());
    (status, body.unwrap_or_default())
}

fn another_program() -> (String, String) {
    (
        "is answered by another program".to_owned(),
        "stop that program, or give this listener another port".to_owned(),
    )
}

fn is_status(status: u16, body: &Value) -> Result<String, (String, String)> {
    match (status, body.pointer("/data/version/name")) {
        (200, Some(Value::String(version))) => Ok(format!("is answered by version {version}")),
        _ => Err(another_program()),
    }
}

fn is_readiness(status: u16, body: &Value) -> Result<String, (String, String)> {
    match (status, body.get("message").and_then(Value::as_str)) {
        (200, Some(_)) => Ok("is answered, and the service is ready".to_owned()),
        (503, Some(why)) => {
            Err((format!("says that the service is not ready: {why}"), "see its log".to_owned()))
        }
        _ => Err(another_program()),
    }
}

fn is_anything(status: u16, _: &Value) -> Result<String, (String, String)> {
    match status {
        500.. => Err((format!("answers with {status}"), "see the log of the service".to_owned())),
        _ => Ok("is answered".to_owned()),
    }
}

/// Where a service on this machine is asked: one that listens on every address, on the loopback one.
fn address(scheme: &str, listen: &ListenAddress) -> String {
    format!("{scheme}://{}", listen.reachable())
}
