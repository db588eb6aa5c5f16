//! A platform, a provider and a manual clock for tests; and conformance of the provider.

use async_trait::async_trait;
use companion_dev_identity::{
    Account, AccountGuild, Client, CodeTerms, Control, DevIdentity, Options, Running,
};
use companion_domain::{
    model::{IdpCode, Membership, PictureServer, PlatformTokens, Secret, User, UserId, WebUrl},
    port::{
        ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider as _, PlatformPauses,
    },
};
use companion_identity_oauth2::{Deadlines, Limits, OauthIdentity, Route, RouteStatistics, Settings};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    clock::FixedClock,
    conformance::{
        Fresh,
        identity_provider::{CodeTerms as ArrivalTerms, PlatformHold, ProviderOnPlatform},
    },
};
use sha2::{Digest as _, Sha256};
use std::{net::TcpListener, sync::Arc, time::Duration};

pub(crate) const CLIENT_ID: &str = "4711";
pub(crate) const CLIENT_SECRET: &str = "s3cr3t: with & odd = char+acters % \"ä🦊\\ and /";
/// The user whom most tests sign in.
pub(crate) const USER: u64 = 80_351_110_224_678_912;
/// The client of most tests.
pub(crate) const CLIENT: ClientMark = ClientMark(1);

pub(crate) struct Stage {
    pub(crate) running: Running,
    pub(crate) control: Control,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) settings: Settings,
    pub(crate) provider: OauthIdentity,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Changes the settings of the provider. The platform knows its client secret.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let options = Options { users: vec![account(USER, 2)], ..Options::default() };
        let running = DevIdentity::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap();
        let mut settings = settings(&running.api_url(), &running.cdn_url());
        change(&mut settings);
        let control = running.control();
        control.put_client(Client {
            id: settings.client_id.clone(),
            secret: settings.client_secret.expose().to_owned(),
            redirect_uris: vec![redirect().to_string()],
        });
        let clock = Arc::new(FixedClock::default());
        let provider = provider(&settings, &clock);
        Self { control, running, clock, settings, provider }
    }

    /// Creates another provider for the same platform, with its own state.
    pub(crate) fn another_provider(&self) -> OauthIdentity {
        provider(&self.settings, &self.clock)
    }

    /// Creates another provider that shares pauses.
    pub(crate) fn sharing_provider(&self, pauses: Arc<dyn PlatformPauses>) -> OauthIdentity {
        OauthIdentity::new(&self.settings, self.clock.clone(), pauses).unwrap()
    }

    /// Creates another provider with a short deadline.
    pub(crate) fn impatient_provider(&self, call: Duration) -> OauthIdentity {
        let mut settings = self.settings.clone();
        settings.deadlines.call = call;
        provider(&settings, &self.clock)
    }

    /// Returns the provider's counters of a route.
    pub(crate) fn counted(&self, route: Route) -> RouteStatistics {
        let routes = self.provider.statistics().routes;
        routes.into_iter().find(|(known, _)| *known == route).unwrap().1
    }

    pub(crate) fn code(&self) -> IdpCode {
        self.control.mint_code(USER).parse().unwrap()
    }

    pub(crate) async fn exchange(&self, code: &str) -> Result<PlatformTokens, IdentityError> {
        self.provider.exchange(&exchange_of(code.parse().unwrap())).await
    }

    pub(crate) async fn signed_in(&self) -> PlatformTokens {
        self.exchange(self.code().expose()).await.unwrap()
    }
}

pub(crate) fn settings(api_url: &str, cdn_url: &str) -> Settings {
    Settings {
        api_url: api_url.parse().unwrap(),
        pictures: PictureServer::new(cdn_url.parse().unwrap()),
        client_id: CLIENT_ID.to_owned(),
        client_secret: secret(CLIENT_SECRET),
        user_agent: "Companion (tests)".to_owned(),
        deadlines: Deadlines { call: Duration::from_secs(30), ..Deadlines::default() },
        limits: Limits::default(),
    }
}

/// Creates a provider that shares pauses with no other node.
pub(crate) fn provider(settings: &Settings, clock: &Arc<FixedClock>) -> OauthIdentity {
    OauthIdentity::new(settings, Arc::clone(clock) as _, Arc::new(MemoryStorage::new())).unwrap()
}

pub(crate) fn account(id: u64, guilds: u64) -> Account {
    let guild = |number: u64| AccountGuild {
        id: number << 22,
        name: format!("Guild {number}"),
        icon: None,
        owner: number == 1,
        permissions: (1 << 50) | number,
    };
    Account {
        id,
        username: "sample_user".to_owned(),
        global_name: Some("Sample User".to_owned()),
        avatar: Some("a_0f1e".to_owned()),
        guilds: (1..=guilds).map(guild).collect(),
    }
}

/// Returns the user whom most tests sign in, as a domain value.
pub(crate) fn user_id() -> UserId {
    UserId::new(USER).unwrap()
}

pub(crate) fn exchange_of(code: IdpCode) -> CodeExchange {
    CodeExchange { client: CLIENT, ..CodeExchange::new(code, redirect()) }
}

pub(crate) fn redirect() -> WebUrl {
    "https://dashboard.example/callback?a=b%20c&d".parse().unwrap()
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

pub(crate) fn kind<T>(result: Result<T, IdentityError>) -> IdentityErrorKind {
    result.map(|_| "success").unwrap_err().kind
}

pub(crate) fn wait_of<T>(result: Result<T, IdentityError>) -> Duration {
    let wait = match kind(result) {
        IdentityErrorKind::Limited(wait) => Ok(wait),
        other => Err(other),
    };
    wait.unwrap()
}

struct Hold(Control);

#[async_trait]
impl PlatformHold for Hold {
    async fn arrival(&self, user: &User, guilds: &[Membership], terms: ArrivalTerms) -> IdpCode {
        let guild = |membership: &Membership| AccountGuild {
            id: membership.guild.get(),
            name: format!("Guild {}", membership.guild),
            icon: None,
            owner: membership.owner,
            permissions: membership.permissions.bits(),
        };
        self.0.put_user(Account {
            id: user.id.get(),
            username: user.username.as_str().to_owned(),
            global_name: Some(user.name.as_str().to_owned()),
            avatar: None,
            guilds: guilds.iter().map(guild).collect(),
        });
        let terms = CodeTerms {
            redirect_uri: terms.redirect.map(|redirect| redirect.to_string()),
            code_challenge: terms.verifier.map(|verifier| challenge(verifier.expose())),
            scope: terms.scope,
            ..CodeTerms::default()
        };
        self.0.mint_code_with(user.id.get(), terms).parse().unwrap()
    }

    async fn expire_access(&self, user: UserId) {
        self.0.expire_access(Some(user.get()));
    }
}

fn challenge(verifier: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

companion_testkit::identity_provider_conformance! {{
    let Stage { running, control, provider, .. } = Stage::new();
    let platform = Arc::new(Hold(control));
    Fresh::new(Arc::new(ProviderOnPlatform { provider: Arc::new(provider), platform })).keeping(running)
}}
