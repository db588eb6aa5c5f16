//! The running service over memory adapters, any of which a test can replace.

use crate::use_cases::{self, InMemory, Settings, UseCases, settings};
use async_trait::async_trait;
use companion_domain::model::{PictureServer, Secret};
use companion_http::{
    BuildInfo, Commit, Projections, PublicApi, PublicSettings, Redirects, RunningServer, ServerLimits,
    Socket, TrustedProxies, serve_public,
};
use companion_management::{ManagementApi, ManagementKeys, ManagementSettings, Readiness};
use std::{io, net::TcpListener, num::NonZeroU32, sync::Arc};

/// The default management key.
pub const MANAGEMENT_KEY: &str = "test-management-key";

/// What a test may change before the service is created.
pub struct Plan {
    /// The ports, with access to what is behind them. Replace any of `memory.ports`.
    pub memory: InMemory,
    /// The settings of the use cases.
    pub rules: Settings,
    /// The settings of the public API.
    pub public: PublicSettings,
    /// The settings of the management API.
    pub management: ManagementSettings,
    /// The readiness that the management API reports.
    pub readiness: Arc<dyn Readiness>,
    /// Whether projections are loaded before the first request, as in the program.
    pub loaded: bool,
}

/// The service, with access to everything behind it.
///
/// ```
/// # use companion_testkit::{service::TestService, world::a_user};
/// # actix_web::rt::System::new().block_on(async {
/// let service = TestService::with(|plan| plan.public.sign_out = true).await;
/// let code = service.memory.arrival(a_user(1), vec![]).code;
/// let app = actix_web::test::init_service(service.public.app()).await;
/// let request = actix_web::test::TestRequest::post().uri("/auth").insert_header(("Idp-Code", code.expose()));
/// let answer = actix_web::test::call_service(&app, request.to_request()).await;
/// assert_eq!(answer.status(), 200);
/// # });
/// ```
pub struct TestService {
    /// The ports, with access to what is behind them.
    pub memory: InMemory,
    /// All use cases.
    pub use_cases: UseCases,
    /// The public API. `public.app()` is an application for `actix_web::test`.
    pub public: PublicApi,
    /// The management API, which always reports the service as ready. Its key is [`MANAGEMENT_KEY`].
    pub management: ManagementApi,
}

struct AlwaysReady;

#[async_trait]
impl Readiness for AlwaysReady {
    async fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl TestService {
    /// Creates a service after a change to its plan.
    #[expect(clippy::unwrap_used, reason = "a test cannot continue without its store")]
    pub async fn with(change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan {
            memory: InMemory::new(),
            rules: settings(),
            public: public_settings(),
            management: management_settings(),
            readiness: Arc::new(AlwaysReady),
            loaded: true,
        };
        change(&mut plan);
        let Plan { memory, rules, public, management, readiness, loaded } = plan;
        let use_cases = UseCases::new(&memory.ports, rules);
        let projections = Projections::of(&use_cases, memory.ports.scheduler.clone());
        if loaded {
            use_cases.dispatcher.catch_up().await.unwrap();
            memory.scheduler.settled().await;
        }
        let (clock, entropy) = (memory.ports.clock.clone(), memory.ports.entropy.clone());
        let public = PublicApi::new(&use_cases, projections, clock.clone(), entropy.clone(), public);
        let management = ManagementApi::new(&use_cases, readiness, clock, entropy, management)
            .with_metrics(public.metrics());
        Self { memory, use_cases, public, management }
    }

    /// Serves the public API on a free loopback port. Must be called within a tokio runtime.
    pub fn listen(&self) -> io::Result<RunningServer> {
        serve_public(self.public.clone(), free_port()?, limits())
    }
}

/// Binds a free loopback port, without TLS.
pub fn free_port() -> io::Result<Socket> {
    Ok(Socket { listener: TcpListener::bind(("127.0.0.1", 0))?, tls: None, shared: false })
}

/// One worker, defaults for the rest.
#[must_use]
pub fn limits() -> ServerLimits {
    ServerLimits { workers: 1, ..ServerLimits::default() }
}

fn management_settings() -> ManagementSettings {
    let keys = ManagementKeys::new(&[Secret::new(MANAGEMENT_KEY.to_owned())]);
    ManagementSettings {
        keys,
        body_limit: 64 * 1024,
        access_log: false,
        trusted_proxies: TrustedProxies::new(|_| false),
    }
}

/// Returns settings with a fictitious version and the dashboard of an example.
#[expect(clippy::unwrap_used, reason = "only for URLs written here")]
fn public_settings() -> PublicSettings {
    PublicSettings {
        allowed_origins: vec!["https://dashboard.example".parse().unwrap()],
        redirects: Redirects::One(use_cases::REDIRECT.parse().unwrap()),
        sign_out: false,
        guild_settings: false,
        body_limit: 64 * 1024,
        build: BuildInfo {
            name: "1.2.3".to_owned(),
            branch: "main".to_owned(),
            commit: Commit {
                sha: "0123456789abcdef0123456789abcdef01234567".to_owned(),
                message: "Do one thing".to_owned(),
                author: "Someone".to_owned(),
                timestamp: 1_767_000_000,
            },
        },
        pictures: PictureServer::new("https://cdn.example".parse().unwrap()),
        access_log: false,
        tls: false,
        trusted_proxies: TrustedProxies::new(|_| false),
        refused_codes_per_minute: NonZeroU32::MAX,
    }
}
