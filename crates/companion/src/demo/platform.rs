//! The platform: a real OAuth 2.0 provider with the sample users.

use super::{PEOPLE, PORT_TAKEN, Person};
use crate::{
    configuration::{Layers, ListenAddress},
    error::{ProgramError, failed},
};
use companion_dev_identity::{Client, CodeTerms, DevIdentity, Options, Running};
use std::{io, net::SocketAddr, time::Duration};

/// Lifetime of printed codes, long enough to read the introduction first.
const CODE_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Credentials of the service at the provider. The secret need not be secret, because every client can sign in as any
/// user anyway.
const CLIENT_ID: &str = "100000000000000001";
const CLIENT_SECRET: &str = "demo-only";
const SCOPE: &str = "identify guilds";

/// The platform of the sample world. Stops on drop.
#[derive(Debug)]
pub struct SamplePlatform {
    running: Running,
    /// The provider's own page, which shows the code.
    redirect_uri: String,
}

impl SamplePlatform {
    /// Starts the provider at this address, with redirect URIs for this public API and dashboard.
    pub fn start(address: &ListenAddress, public: SocketAddr, dashboard: &str) -> Result<Self, ProgramError> {
        let refused = |error: io::Error| {
            failed(format_args!(
                "the demo's identity provider cannot listen on {address}: {error}\n    fix: {PORT_TAKEN}"
            ))
        };
        let listener = address.bind().map_err(refused)?;
        let redirect_uri = format!("http://{}/callback", listener.local_addr().map_err(refused)?);
        let client = Client {
            id: CLIENT_ID.to_owned(),
            secret: CLIENT_SECRET.to_owned(),
            redirect_uris: vec![redirect_uri.clone(), format!("{dashboard}/callback")],
        };
        let options = Options {
            clients: vec![client],
            users: PEOPLE.iter().map(Person::account).collect(),
            descriptions: PEOPLE.iter().map(|person| (person.id(), person.about.clone())).collect(),
            command: Some(sign_in_command(public, "{code}")),
            code_lifetime: CODE_LIFETIME,
            ..Options::default()
        };
        let running = DevIdentity::start(listener, options)
            .map_err(|error| failed(format_args!("cannot start the demo's identity provider: {error}")))?;
        Ok(Self { running, redirect_uri })
    }

    /// Adds the settings of a service that uses this provider.
    #[must_use]
    pub fn configure(&self, layers: Layers) -> Layers {
        layers
            .with("COMPANION_IDENTITY__CLIENT_ID", CLIENT_ID)
            .with("COMPANION_IDENTITY__CLIENT_SECRET", CLIENT_SECRET)
            .with("COMPANION_IDENTITY__REDIRECT_URI", &self.redirect_uri)
            .with("COMPANION_IDENTITY__API_URL", &self.running.api_url())
            .with("COMPANION_IDENTITY__AUTHORIZE_URL", &self.authorize_url())
            .with("COMPANION_IDENTITY__CDN_URL", &self.running.cdn_url())
    }

    /// Returns the base URL of pictures.
    pub(super) fn pictures(&self) -> String {
        self.running.cdn_url()
    }

    /// Issues a code for a user, as a sign-in does: valid once, for a day.
    #[must_use]
    pub fn code_for(&self, person: &Person) -> String {
        let terms = CodeTerms {
            redirect_uri: Some(self.redirect_uri.clone()),
            client_id: Some(CLIENT_ID.to_owned()),
            ..CodeTerms::default()
        };
        self.running.control().mint_code_with(person.id(), terms)
    }

    /// Returns the URL of the page that offers the sample users. With a `login_hint` it redirects with a code at once.
    #[must_use]
    pub fn sign_in_page(&self) -> String {
        let parameters = [
            ("client_id", CLIENT_ID),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("response_type", "code"),
            ("scope", SCOPE),
        ];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        format!("{}?{query}", self.authorize_url())
    }

    fn authorize_url(&self) -> String {
        format!("{}/oauth2/authorize", self.running.base_url())
    }
}

/// Returns a shell command that exchanges a code for a session. Responses have no final line break, so curl adds one.
#[must_use]
pub fn sign_in_command(public: SocketAddr, code: &str) -> String {
    format!("curl -sw '\\n' -X POST -H 'Idp-Code: {code}' http://{public}/auth")
}
