//! The public API: five endpoints and the optional settings of a guild, one file each.

mod auth;
mod feedback;
mod guild_settings;
mod guilds;
mod status;
mod team;

use crate::{
    client::TrustedProxies,
    concurrency::ConcurrencyLimiter,
    edge::{Application, ReadyResponses, Shell, ShellSettings},
    metrics::MetricsSource,
    origin::{Origin, Redirects},
    projection::Projections,
    request_id::RequestStart,
    routing::{Resource, reading},
    sign_ins::SignInAttempts,
    wire::BuildInfo,
};
use actix_web::{App, HttpRequest, HttpResponse, web};
use companion_domain::{
    change::Kind,
    model::PictureServer,
    port::{Clock, Entropy},
    usecase::UseCases,
};
use std::{num::NonZeroU32, sync::Arc};
use utoipa::OpenApi;

/// The public API. It can be served any number of times.
#[derive(Clone)]
pub struct PublicApi {
    context: web::Data<PublicContext>,
    pub(crate) shell: Shell,
}

impl PublicApi {
    /// Creates the public API over these use cases.
    #[must_use]
    pub fn new(
        use_cases: &UseCases,
        projections: Arc<Projections>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: PublicSettings,
    ) -> Self {
        let shell = Shell::new(ShellSettings {
            listener: "public",
            paths: ROUTES.iter().map(|(path, _)| *path).chain([guild_settings::PATH]).collect(),
            allowed_origins: settings.allowed_origins.clone(),
            body_limit: settings.body_limit,
            access_log: settings.access_log,
            tls: settings.tls,
            trusted_proxies: settings.trusted_proxies.clone(),
            clock: clock.clone(),
            entropy,
        });
        let sign_ins = SignInAttempts::new(use_cases.sign_in.clone(), settings.refused_codes_per_minute);
        let context = PublicContext {
            use_cases: use_cases.clone(),
            projections,
            settings,
            clock,
            sign_ins,
            storage_limiter: ConcurrencyLimiter::default(),
            list_limiter: ConcurrencyLimiter::default(),
        };
        let context = web::Data::new(context);
        Self { shell: shell.with_ready(context.clone().into_inner()), context }
    }

    /// Returns its metrics, for the management API.
    #[must_use]
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        let sign_ins: Arc<dyn MetricsSource> = self.context.sign_ins.metrics.clone();
        let projections: Arc<dyn MetricsSource> = self.context.projections.clone();
        Arc::new(vec![self.shell.metrics(), sign_ins, projections])
    }

    /// Returns the sign-in service, which other listeners share.
    #[must_use]
    pub fn sign_ins(&self) -> Arc<SignInAttempts> {
        self.context.sign_ins.clone()
    }

    /// Returns the whole application, for a server or a test.
    pub fn app(&self) -> App<impl Application + use<>> {
        let PublicSettings { sign_out, guild_settings, .. } = self.context.settings;
        let always = ROUTES.into_iter().map(|(path, resource)| resource(path, sign_out));
        let resources = always.chain(guild_settings.then(guild_settings::resource));
        let app = App::new().wrap(self.shell.clone()).app_data(self.context.clone());
        app.configure(|config| self.shell.configure(config, resources))
    }
}

/// Settings of the public API.
#[derive(Debug, Clone)]
pub struct PublicSettings {
    /// Origins that may read responses and sign users in.
    pub allowed_origins: Vec<Origin>,
    /// OAuth redirect URLs.
    pub redirects: Redirects,
    /// Whether `DELETE /auth` ends a session.
    pub sign_out: bool,
    /// Whether `/guilds/{guild}/settings` exists.
    pub guild_settings: bool,
    /// Largest request body, in bytes.
    pub body_limit: usize,
    /// The running version, shown by `GET /`.
    pub build: BuildInfo,
    /// Server of the default icons of guilds.
    pub pictures: PictureServer,
    /// Whether each request is logged.
    pub access_log: bool,
    /// Whether the listener terminates TLS. Responses then have `Strict-Transport-Security`.
    pub tls: bool,
    /// Trusted reverse proxies, whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
    /// Refused codes per client and minute.
    pub refused_codes_per_minute: NonZeroU32,
}

/// Context of the handlers.
pub(crate) struct PublicContext {
    use_cases: UseCases,
    projections: Arc<Projections>,
    settings: PublicSettings,
    clock: Arc<dyn Clock>,
    sign_ins: Arc<SignInAttempts>,
    /// Limits requests that wait for the store.
    storage_limiter: ConcurrencyLimiter,
    /// Limits requests that wait for a newer list of the platform.
    list_limiter: ConcurrencyLimiter,
}

/// A path and its resource, with or without sign-out.
type Route = (&'static str, fn(&'static str, bool) -> Resource);

/// All routes. A test compares the OpenAPI document with them.
const ROUTES: [Route; 5] = [
    ("/", |path, _| reading(path, status::report)),
    ("/auth", auth::resource),
    ("/guilds", |path, _| reading(path, guilds::list)),
    ("/feedback", |path, _| reading(path, feedback::pick)),
    ("/team", |path, _| reading(path, team::show)),
];

impl ReadyResponses for PublicContext {
    fn ready(&self, request: &HttpRequest, start: &RequestStart) -> Option<(&'static str, HttpResponse)> {
        let has = |kind| self.projections.has(kind);
        match request.path() {
            "/" if has(Kind::Cluster) => Some(("/", status::reported(self, request, Some(start))?.ok()?)),
            "/guilds" => Some(("/guilds", guilds::from_caches(self, request)?)),
            "/feedback" => Some(("/feedback", feedback::from_memory(self)?)),
            "/team" if has(Kind::Team) => Some(("/team", team::shown(self, request)?)),
            _ => None,
        }
    }
}

/// The public API's part of the OpenAPI document. It does not contain `DELETE /auth` and
/// `/guilds/{guild}/settings`, which are off by default.
#[derive(OpenApi)]
#[openapi(paths(status::report, auth::sign_in, guilds::list, feedback::pick, team::show))]
pub struct PublicDocument;
