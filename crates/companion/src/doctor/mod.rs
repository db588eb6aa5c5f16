//! Looks at a whole installation, and says of each part whether it is well, what is wrong, and what to do about it.
//!
//! It changes nothing: the database is read without making a log, and what is written to measure the disk is a file beside it
//! that is removed again. It goes on where something fails; a configuration with mistakes is followed as far as it goes. Every
//! question to someone else has a deadline, and those that do not need each other are asked at once.
//!
//! To add a check: a file here that gives [`Check`]s, and its place in [`examine`].

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
use crate::configuration::{Layers, Mistakes};
use reqwest::{Client, Method, Response};
use rustls::{ClientConfig, pki_types::CertificateDer};
use std::time::Duration;

/// Looks at the installation that these layers describe. It fails only where nothing at all can be told.
pub async fn examine(layers: &Layers) -> Result<Report, Mistakes> {
    let (loaded, mistakes) = crate::configuration::examine(layers)?;
    let installation =
        Installation { configuration: loaded.configuration, effective: loaded.effective, mistakes };
    let mut checks = configuration::check(&installation, &loaded.unread, &loaded.warnings);
    checks.extend(files::check(&installation));
    let (database, written, asked) =
        tokio::join!(database::look(&installation), write::beside(&installation), ask(&installation));
    let written = written.unwrap_or_else(|| write::on_server(database.inspection.as_ref()));
    let bot = bot::check(&installation, &database);
    checks.push(database.check.clone());
    checks.push(written);
    checks.push(database::check(&database));
    checks.extend(files::fit(&installation, &database));
    checks.extend(asked);
    checks.push(listeners::check(&installation));
    checks.push(bot);
    Ok(Report { checks })
}

/// What others have to be asked about: the platform, and the service that runs.
async fn ask(installation: &Installation) -> Vec<Check> {
    let asker = match Asker::new() {
        Ok(asker) => asker,
        Err(why) => return vec![provider::without_client(&why)],
    };
    let platform = async {
        let provider = provider::ask(installation, &asker).await;
        let credentials = credentials::check(installation, &provider, &asker).await;
        let clock = provider::check_clock(&provider);
        vec![provider.check, clock, credentials]
    };
    let certificate = certificate::read(installation);
    let pinned = certificate.as_ref().and_then(|own| Asker::of_ourselves(own.shown.clone()?).ok());
    let service = async {
        let asker = pinned.as_ref().unwrap_or(&asker);
        let listeners = listeners::ask(installation, asker).await;
        let preflights = preflight::check(installation, listeners.public.as_deref(), asker).await;
        (listeners.checks, preflights)
    };
    let (mut checks, (listeners, preflights)) = tokio::join!(platform, service);
    checks.extend(redirects::check(installation));
    checks.extend(certificate.map(|own| own.check));
    checks.extend(listeners);
    checks.extend(preflights);
    checks
}

/// How long one answer may take.
const DEADLINE: Duration = Duration::from_secs(5);

struct Asker(Client);

impl Asker {
    /// Returns a client for servers with a certificate of a public authority, such as the platform.
    fn new() -> Result<Self, String> {
        Self::with(companion_identity_oauth2::platform_tls().map_err(|error| error.to_string())?)
    }

    /// Returns a client for our own listeners, which present this certificate.
    fn of_ourselves(certificate: CertificateDer<'static>) -> Result<Self, String> {
        Self::with(certificate::pinned(certificate).map_err(|error| error.to_string())?)
    }

    fn with(tls: ClientConfig) -> Result<Self, String> {
        let client = Client::builder()
            .user_agent(concat!("Companion/", env!("CARGO_PKG_VERSION"), " doctor"))
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .timeout(DEADLINE)
            .build();
        client.map(Self).map_err(|error| root(&error))
    }

    /// The answer, or why there was none. Neither has a secret in it.
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
