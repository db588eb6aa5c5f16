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
    configuration::{ConfigurationError, Layers},
};
use reqwest::{Client, Method, Response};
use rustls::{ClientConfig, pki_types::CertificateDer};
use std::time::Duration;

/// Examines the installation that these layers describe. Fails only if no configuration can be read at all.
pub async fn examine(layers: &Layers) -> Result<Report, ConfigurationError> {
    let (loaded, errors) = crate::configuration::examine(layers)?;
    let installation =
        Installation { configuration: loaded.configuration, effective: loaded.effective, errors };
    let mut checks = configuration::check(&installation, &loaded.warnings);
    checks.extend(files::check(&installation));
    let (database, written, asked) =
        tokio::join!(database::inspect(&installation), write::beside(&installation), ask(&installation));
    let written = written.unwrap_or_else(|| write::on_server(database.inspection.as_ref()));
    let bot = bot::check(&installation, &database);
    checks.push(database.check.clone());
    checks.push(written);
    checks.push(database::check(&database));
    checks.extend(files::check_key(&installation, &database));
    checks.extend(asked);
    checks.push(listeners::check(&installation));
    checks.push(bot);
    Ok(Report { checks })
}

/// Runs the checks that send requests: to the platform, and to the running service.
async fn ask(installation: &Installation) -> Vec<Check> {
    let user_agent = user_agent(&installation.configuration);
    let client = match HttpClient::for_platform(&user_agent) {
        Ok(client) => client,
        Err(why) => return vec![provider::without_client(&why)],
    };
    let platform = async {
        let provider = provider::ask(installation, &client).await;
        let credentials = credentials::check(installation, &provider, &client).await;
        let clock = provider::check_clock(&provider);
        vec![provider.check, clock, credentials]
    };
    let certificate = certificate::read(installation);
    let pinned = certificate
        .as_ref()
        .and_then(|own| HttpClient::for_own_listeners(&user_agent, own.shown.clone()?).ok());
    let service = async {
        let client = pinned.as_ref().unwrap_or(&client);
        let listeners = listeners::ask(installation, client).await;
        let preflights = preflight::check(installation, listeners.public.as_deref(), client).await;
        (listeners.checks, preflights)
    };
    let (mut checks, (listeners, preflights)) = tokio::join!(platform, service);
    checks.extend(redirects::check(installation));
    checks.extend(certificate.map(|own| own.check));
    checks.extend(listeners);
    checks.extend(preflights);
    checks
}

/// Timeout of a request.
const DEADLINE: Duration = Duration::from_secs(5);

struct HttpClient(Client);

impl HttpClient {
    /// Returns a client for servers with a certificate of a public authority, such as the platform.
    fn for_platform(user_agent: &str) -> Result<Self, String> {
        let tls = companion_identity_oauth2::platform_tls().map_err(|error| error.to_string())?;
        Self::with(user_agent, tls)
    }

    /// Returns a client for our own listeners, which present this certificate.
    fn for_own_listeners(user_agent: &str, certificate: CertificateDer<'static>) -> Result<Self, String> {
        Self::with(user_agent, certificate::pinned(certificate).map_err(|error| error.to_string())?)
    }

    fn with(user_agent: &str, tls: ClientConfig) -> Result<Self, String> {
        let client = Client::builder()
            .user_agent(user_agent)
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .timeout(DEADLINE)
            .build();
        client.map(Self).map_err(|error| root(&error))
    }

    /// Sends a request. Neither the response nor the error contains a secret.
    async fn ask(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Result<Response, String> {
        let request =
            headers.iter().fold(self.0.request(method, url).body(body), |request, (name, value)| {
                request.header(*name, *value)
            });
        request.send().await.map_err(|error| {
            if error.is_timeout() {
                format!("no answer within {} s", DEADLINE.as_secs())
            } else {
                root(&error.without_url())
            }
        })
    }
}
