//! The platform: a real OAuth 2.0 provider with the sample people on it.

use super::{DemoError, Person};
use crate::configuration::{Layers, ListenAddress};
use companion_dev_identity::{Client, CodeTerms, DevIdentity, Options, Running};
use companion_domain::model::{Invalid, WebUrl};
use std::time::Duration;

/// Where the provider listens, unless the public API takes a free port: then it takes one too.
const PORT: u16 = 8083;
/// Printed codes are for people, who may read first.
const CODE_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The service, as the provider knows it. Whoever reaches the provider can sign in as anyone; no secret would help.
const CLIENT_ID: &str = "100000000000000001";
const CLIENT_SECRET: &str = "demo-only";
const REDIRECT_URI: &str = "http://127.0.0.1:8082/callback";
const SCOPE: &str = "identify guilds";

/// The platform of the sample world. It ends when this is dropped.
#[derive(Debug)]
pub struct SamplePlatform(Running);

impl SamplePlatform {
    /// Starts it for a service whose public API listens here.
    pub fn start(public: &ListenAddress, people: &[Person]) -> Result<Self, DemoError> {
        let port = if public.port == 0 { 0 } else { PORT };
        let address = ListenAddress { host: public.host.clone(), port };
        let listener = address.bind().map_err(|error| DemoError::ProviderCannotListen { address, error })?;
        let client = Client {
            id: CLIENT_ID.to_owned(),
            secret: CLIENT_SECRET.to_owned(),
            redirect_uris: vec![REDIRECT_URI.to_owned()],
        };
        let options = Options {
            clients: vec![client],
            users: people.iter().map(|person| person.account.clone()).collect(),
            code_lifetime: CODE_LIFETIME,
            ..Options::default()
        };
        Ok(Self(DevIdentity::start(listener, options)?))
    }

    /// The layers of a service that signs its users in here.
    #[must_use]
    pub fn configure(&self, layers: Layers) -> Layers {
        layers
            .with("COMPANION_IDENTITY__CLIENT_ID", CLIENT_ID)
            .with("COMPANION_IDENTITY__CLIENT_SECRET", CLIENT_SECRET)
            .with("COMPANION_IDENTITY__REDIRECT_URI", REDIRECT_URI)
            .with("COMPANION_IDENTITY__API_URL", &self.0.api_url())
            .with("COMPANION_IDENTITY__CDN_URL", &self.0.cdn_url())
    }

    /// Where its pictures are.
    pub fn pictures(&self) -> Result<WebUrl, Invalid> {
        self.0.cdn_url().parse()
    }

    /// A code for someone, as they would get it by signing in: good once, for a day.
    #[must_use]
    pub fn code_for(&self, person: &Person) -> String {
        let terms = CodeTerms {
            redirect_uri: Some(REDIRECT_URI.to_owned()),
            client_id: Some(CLIENT_ID.to_owned()),
            ..CodeTerms::default()
        };
        self.0.control().mint_code_with(person.id.get(), terms)
    }

    /// The page on which a person picks whom to sign in as. With a `login_hint` it sends a code at once.
    #[must_use]
    pub fn sign_in_page(&self) -> String {
        let parameters = [
            ("client_id", CLIENT_ID),
            ("redirect_uri", REDIRECT_URI),
            ("response_type", "code"),
            ("scope", SCOPE),
        ];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        format!("{}/oauth2/authorize?{query}", self.0.base_url())
    }
}
