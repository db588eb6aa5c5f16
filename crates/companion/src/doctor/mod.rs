//! Examines an installation and reports, for each part, its state, its problem and a fix.
//!
//! It changes nothing: the database is opened without creating a log, and the file that measures the disk is removed. A
//! failed check does not stop the others, and invalid settings are replaced by their defaults. Every request has a
//! deadline; independent requests run concurrently.
//!
//! To add a check: add a file that returns [`Check`]s, and call it in [`examine`].

mod bot;
mod certificate;
mod check;
mod configuration;
mod credentials;
mod database;
mod files;
mod listeners;
mod preflight;
mod provider;
mod redirects;
mod report;
mod write;

pub use self::{
    check::{Check, Status},
    report::Report,
};

use self::{check::Installation, report::root};
use crate::{
    composition::user_agent,
    configuration::{ConfigurationError, Layers, Loaded},
};
use reqwest::{Client, RequestBuilder, Response};
use rustls::ClientConfig;
use std::{fmt::Display, time::Duration};

/// Examines the installation that these layers describe. Fails only if no configuration can be read at all.
pub async fn examine(layers: &Layers) -> Result<Report, ConfigurationError> {
    let (Loaded { configuration, effective, warnings }, errors) = crate::configuration::examine(layers)?;
    let installation = Installation { configuration, effective, warnings, errors };
    let mut checks = configuration::check(&installation);
    checks.extend(files::check(&installation));
    let ((database, inspected), written, asked) =
        tokio::join!(database::inspect(&installation), write::beside(&installation), ask(&installation));
    let inspection = inspected.as_ref().and_then(|inspected| inspected.as_ref().ok());
    checks.push(database);
    checks.push(written.unwrap_or_else(|| write::on_server(inspection)));
    checks.push(database::check_schema(inspected.as_ref()));
    checks.extend(files::check_key(&installation, inspection));
    checks.extend(asked);
    checks.push(listeners::check(&installation));
    checks.push(bot::check(&installation, inspection));
    Ok(Report { checks })
}

/// Runs the checks that send requests: to the platform, and to the running service.
async fn ask(installation: &Installation) -> Vec<Check> {
    let user_agent = user_agent(&installation.configuration);
    let any = match client(&user_agent, companion_identity_oauth2::platform_tls()) {
        Ok(client) => client,
        Err(why) => return vec![provider::without_client(&why)],
    };
    let platform = async {
        let (provider, answer) = provider::ask(installation, &any).await;
        let credentials = credentials::check(installation, answer.is_some(), &any).await;
        [provider, provider::check_clock(answer.as_ref()), credentials]
    };
    let (certificate, shown) = certificate::read(installation).unzip();
    // Our own listeners show our own certificate, whatever its issuer.
    let pinned = shown.flatten().and_then(|own| client(&user_agent, certificate::pinned(own)).ok());
    let service = async {
        let client = pinned.as_ref().unwrap_or(&any);
        let (listeners, public) = listeners::ask(installation, client).await;
        let preflights = preflight::check(installation, public.as_deref(), client).await;
        (listeners, preflights)
    };
    let (platform, (listeners, preflights)) = tokio::join!(platform, service);
    let mut checks = Vec::from(platform);
    checks.extend(redirects::check(installation));
    checks.extend(certificate);
    checks.extend(listeners);
    checks.extend(preflights);
    checks
}

/// Timeout of a request.
const DEADLINE: Duration = Duration::from_secs(5);

fn client(user_agent: &str, tls: Result<ClientConfig, impl Display>) -> Result<Client, String> {
    let client = Client::builder()
        .user_agent(user_agent)
        .tls_backend_preconfigured(tls.map_err(|error| error.to_string())?)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(0)
        .timeout(DEADLINE)
        .build();
    client.map_err(|error| root(&error))
}

/// Sends a request. Neither the response nor the error contains a secret.
async fn send(request: RequestBuilder) -> Result<Response, String> {
    request.send().await.map_err(|error| {
        if error.is_timeout() {
            format!("no answer within {} s", DEADLINE.as_secs())
        } else {
            root(&error.without_url())
        }
    })
}

/// Reads a JSON body. Returns `null` for another one.
async fn json(answer: Response) -> serde_json::Value {
    let body = answer.bytes().await.ok().and_then(|body| serde_json::from_slice(&body).ok());
    body.unwrap_or_default()
}
