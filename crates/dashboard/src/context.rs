//! Settings of the dashboard; requests and the context of their handlers.

use crate::{
    appearance::Appearance,
    cookie::{Cookie, SigningKeys},
    page::{Answer, Frame, Here, Navigation, Theme, see_other, with_cookie},
    permission_text::{PermissionTexts, Wordings},
    site::Site,
    view::{ChangeSignal, StreamLimiter, Views},
};
use actix_web::{FromRequest, HttpRequest, dev::Payload, web};
use companion_domain::{
    model::{GuildId, Name, Span, WebUrl},
    port::{Clock, Entropy, GuildTotals, StoreError},
    usecase::UseCases,
};
use companion_http::{
    ApiError, ConcurrencyLimiter, Origin, Projections, SignInAttempts, TrustedProxies, deadline, routing,
};
use std::{
    future::{Future, Ready, ready},
    sync::Arc,
    time::Duration,
};
use tokio::sync::Mutex;

/// Maximum age of the number of guilds.
const TOTALS_MAX_AGE: Duration = Duration::from_secs(30);

/// Settings of the dashboard.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// Its origin, as browsers see it.
    pub url: Origin,
    /// Name of the bot.
    pub name: Name,
    /// Invite link of the bot.
    pub invite_url: Option<WebUrl>,
    /// Link to the support of the bot.
    pub support_url: Option<WebUrl>,
    /// Permissions in the bot's own words.
    pub permissions: PermissionTexts,
    /// Logo, accent, tagline and features.
    pub appearance: Appearance,
    /// The application for sign-in; `None` if it is not configured.
    pub platform: Option<PlatformApplication>,
    /// Server of the platform's pictures. Pictures from elsewhere are not shown.
    pub cdn_url: WebUrl,
    /// Maximum lifetime of a session.
    pub session_lifetime: Span,
    /// Keys that sign cookies and form tokens.
    pub keys: SigningKeys,
    /// Largest request body, in bytes.
    pub body_limit: usize,
    /// Whether each request is logged.
    pub access_log: bool,
    /// Whether the listener terminates TLS. Responses then have `Strict-Transport-Security`.
    pub tls: bool,
    /// Trusted reverse proxies, whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
}

/// The OAuth application at the platform.
#[derive(Debug, Clone)]
pub struct PlatformApplication {
    /// The platform's authorisation endpoint.
    pub authorize_url: WebUrl,
    /// The client id of the application.
    pub client_id: String,
}

/// What a user can have signed out: its value in the address of the home page, and the message there.
pub(crate) const SIGNED_OUT: [(&str, &str); 2] =
    [("here", "You are signed out."), ("everywhere", "You are signed out on all devices.")];

/// Context of the handlers.
pub(crate) struct DashboardContext {
    pub(crate) use_cases: UseCases,
    pub(crate) projections: Arc<Projections>,
    pub(crate) sign_ins: Arc<SignInAttempts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) settings: Arc<DashboardSettings>,
    pub(crate) site: Arc<Site>,
    pub(crate) wordings: Wordings,
    /// Cookie with the session token.
    pub(crate) session_cookie: Cookie,
    /// Cookie of a pending sign-in.
    pub(crate) sign_in_cookie: Cookie,
    /// Cookie with the chosen theme.
    pub(crate) theme_cookie: Cookie,
    /// Notifies live pages of changes.
    pub(crate) changes: Arc<ChangeSignal>,
    /// Limits live pages. A page that is refused stays as it was loaded.
    pub(crate) stream_limiter: StreamLimiter,
    /// Rendered content of live pages.
    pub(crate) views: Views,
    /// The number of guilds and members, with the monotonic time at which it was read.
    totals: Mutex<Option<(Duration, Option<GuildTotals>)>>,
    /// Limits requests that wait for the store.
    pub(crate) storage_limiter: ConcurrencyLimiter,
    /// Limits requests that wait for a newer list of the platform.
    pub(crate) list_limiter: ConcurrencyLimiter,
}

impl DashboardContext {
    pub(crate) fn new(
        use_cases: UseCases,
        projections: Arc<Projections>,
        sign_ins: Arc<SignInAttempts>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: Arc<DashboardSettings>,
    ) -> Self {
        let changes = Arc::new(ChangeSignal::default());
        use_cases.dispatcher.add(changes.clone());
        Self {
            use_cases,
            projections,
            sign_ins,
            clock,
            entropy,
            site: Arc::new(Site::new(Arc::clone(&settings))),
            wordings: Wordings::new(&settings.permissions),
            session_cookie: Cookie::new("companion", &settings.url),
            sign_in_cookie: Cookie::new("companion-sign-in", &settings.url),
            theme_cookie: Cookie::new("companion-theme", &settings.url),
            settings,
            changes,
            stream_limiter: StreamLimiter::default(),
            views: Views::default(),
            totals: Mutex::default(),
            storage_limiter: ConcurrencyLimiter::default(),
            list_limiter: ConcurrencyLimiter::default(),
        }
    }

    /// Redirects to the home page, which says which of [`SIGNED_OUT`] it was, and clears the session cookie.
    pub(crate) fn without_session(&self, signed_out: &str) -> Answer {
        let response = see_other(&format!("/?signed-out={signed_out}"))?;
        Ok(with_cookie(response, self.session_cookie.clear()?))
    }

    /// Returns how many guilds have the bot, and how many members they have, as of the last half minute. Counting takes
    /// a look at every guild, so one request at a time counts for all.
    pub(crate) async fn guild_totals(&self) -> Result<Option<GuildTotals>, StoreError> {
        let (mut known, now) = (self.totals.lock().await, self.clock.monotonic());
        if let Some((read_at, totals)) = *known
            && now.saturating_sub(read_at) < TOTALS_MAX_AGE
        {
            return Ok(totals);
        }
        let totals = self.use_cases.report_status.totals().await?;
        *known = Some((now, totals));
        Ok(totals)
    }

    /// Returns the frame of a page.
    pub(crate) fn frame<'a>(&'a self, title: &'a str, here: Here, visitor: Navigation) -> Frame<'a> {
        Frame { site: &self.site, title, here, visitor }
    }
}

/// A request, and the context of its handler.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) context: web::Data<DashboardContext>,
    pub(crate) request: HttpRequest,
}

impl FromRequest for Exchange {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let context = request.app_data().cloned();
        let exchange = context.map(|context| Self { context, request: request.clone() });
        ready(exchange.ok_or_else(|| ApiError::Internal("a handler has no context".into())))
    }
}

impl Exchange {
    /// Awaits a read of the store.
    pub(crate) fn read<T, E: Into<ApiError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> impl Future<Output = Result<T, ApiError>> {
        deadline::within_storage(&self.context.storage_limiter, &self.request, work)
    }

    /// Returns the first query parameter of this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.request.query_string().as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// Returns the guild in the path.
    pub(crate) fn guild(&self) -> Result<GuildId, ApiError> {
        routing::parameter(&self.request, "guild").parse().map_err(|_| ApiError::NotFound)
    }

    /// Returns the theme that the visitor chose.
    pub(crate) fn theme(&self) -> Theme {
        self.context.theme_cookie.read(self.request.headers()).map_or(Theme::System, Theme::named)
    }
}
