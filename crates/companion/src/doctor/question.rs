//! Asking others over HTTP: once, in time, and without following them anywhere.

use super::{certificate, words::root};
use reqwest::{Client, Method, Response};
use rustls::{ClientConfig, pki_types::CertificateDer};
use std::time::Duration;

/// How long one answer may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

pub(super) struct Asker(Client);

impl Asker {
    /// Asks the platform, and whoever else can be recognised by those who vouch for it.
    pub(super) fn new() -> Result<Self, String> {
        Self::with(companion_identity_oauth2::platform_tls().map_err(|error| error.to_string())?)
    }

    /// Asks our own listeners, which show this certificate.
    pub(super) fn of_ourselves(certificate: CertificateDer<'static>) -> Result<Self, String> {
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
    pub(super) async fn ask(
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
