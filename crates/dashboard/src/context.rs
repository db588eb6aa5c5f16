//! Settings of the dashboard, and the context of its handlers.

use crate::{
    appearance::Appearance,
    asset::Assets,
    change_signal::ChangeSignal,
    cookie::{Cookie, SigningKeys},
    page::{Frame, Here, Navigation, Protection, Theme, see_other},
    permission_text::{PermissionTexts, Wordings},
    site::{Pictures, Site, have_same_origin},
    stream_limiter::StreamLimiter,
    view::Views,
};
use actix_web::{HttpRequest, HttpResponse, http::header};
use companion_domain::{
    model::{Name, Span, WebUrl},
    port::{Clock, Entropy, GuildTotals, StoreError},
    usecase::{
        Authenticate, ChangeDispatcher, ExplainGuild, ForgetUser, GuildSettings, ListGuilds, ManageSessions,
        PickFeedback, ReportStatus, ShowUser, UseCases,
    },
};
use companion_http::{ApiError, ConcurrencyLimiter, Origin, Projections, SignInAttempts, TrustedProxies};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// Maximum age of the number of guilds.
const TOTALS_MAX_AGE: Duration = Duration::from_secs(30);

const DEFAULT_TAGLINE: &str = "See the guilds that you run, what you may do in each of them, and why.";

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

/// The use cases of the dashboard.
#[derive(Clone)]
pub struct DashboardUseCases {
    /// Authenticates sessions.
    pub authenticate: Arc<Authenticate>,
    /// Lists guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Explains why a user sees a guild, or does not.
    pub explain: Arc<ExplainGuild>,
    /// Reads and changes settings of guilds.
    pub settings: Arc<GuildSettings>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Shows stored data of users.
    pub show_user: Arc<ShowUser>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
    /// Picks feedback.
    pub pick_feedback: Arc<PickFeedback>,
    /// Reports the status of the bot.
    pub report_status: Arc<ReportStatus>,
    /// Dispatches changes to subscribers.
    pub dispatcher: Arc<ChangeDispatcher>,
}

impl From<&UseCases> for DashboardUseCases {
    fn from(all: &UseCases) -> Self {
        Self {
            authenticate: all.authenticate.clone(),
            list_guilds: all.list_guilds.clone(),
            explain: all.explain.clone(),
            settings: all.settings.clone(),
            sessions: all.sessions.clone(),
            show_user: all.show_user.clone(),
            forget: all.forget.clone(),
            pick_feedback: all.pick_feedback.clone(),
            report_status: all.report_status.clone(),
            dispatcher: all.dispatcher.clone(),
        }
    }
}

/// What a user has signed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignedOut {
    ThisDevice,
    AllDevices,
}

impl SignedOut {
    pub(crate) const ALL: [Self; 2] = [Self::ThisDevice, Self::AllDevices];

    /// Returns its value in the address of the home page.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::ThisDevice => "here",
            Self::AllDevices => "everywhere",
        }
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::ThisDevice => "You are signed out.",
            Self::AllDevices => "You are signed out on all devices.",
        }
    }
}

/// Context of the handlers.
pub(crate) struct DashboardContext {
    pub(crate) use_cases: DashboardUseCases,
    pub(crate) projections: Arc<Projections>,
    pub(crate) sign_ins: Arc<SignInAttempts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) settings: DashboardSettings,
    pub(crate) site: Site,
    pub(crate) wordings: Wordings,
    pub(crate) protection: Protection,
    /// Cookie with the session token.
    pub(crate) session_cookie: Cookie,
    /// Cookie of a pending sign-in.
    pub(crate) sign_in_cookie: Cookie,
    /// Cookie with the chosen theme.
    pub(crate) theme_cookie: Cookie,
    /// Notifies live pages of changes.
    pub(crate) changes: Arc<ChangeSignal>,
    /// Limits live pages. A page that is refused stays as it was loaded.
    pub(crate) stream_limiter: Arc<StreamLimiter>,
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
        use_cases: DashboardUseCases,
        projections: Arc<Projections>,
        sign_ins: Arc<SignInAttempts>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        settings: DashboardSettings,
    ) -> Self {
        let pictures = Pictures::at(&settings.cdn_url);
        let protection = Protection::new(pictures.origin());
        let text = |url: &Option<WebUrl>| url.as_ref().map(ToString::to_string);
        let platform = settings.platform.as_ref().zip(settings.invite_url.as_ref());
        let site = Site {
            name: settings.name.to_string(),
            url: settings.url.to_string(),
            tagline: settings.appearance.tagline.clone().unwrap_or_else(|| DEFAULT_TAGLINE.to_owned()),
            features: settings.appearance.features.clone(),
            assets: Arc::new(Assets::new(&settings.appearance)),
            invite_url: text(&settings.invite_url),
            can_preselect: platform.is_some_and(|(app, invite)| have_same_origin(&app.authorize_url, invite)),
            support_url: text(&settings.support_url),
            pictures,
        };
        let session_cookie = Cookie::new("companion", &settings.url);
        let sign_in_cookie = Cookie::new("companion-sign-in", &settings.url);
        let theme_cookie = Cookie::new("companion-theme", &settings.url);
        let changes = ChangeSignal::new();
        use_cases.dispatcher.add(changes.clone());
        let wordings = Wordings::new(&settings.permissions);
        Self {
            use_cases,
            projections,
            sign_ins,
            clock,
            entropy,
            settings,
            site,
            wordings,
            protection,
            session_cookie,
            sign_in_cookie,
            theme_cookie,
            changes,
            stream_limiter: Arc::default(),
            views: Views::default(),
            totals: Mutex::default(),
            storage_limiter: ConcurrencyLimiter::default(),
            list_limiter: ConcurrencyLimiter::default(),
        }
    }

    /// Redirects to the home page, which says what was signed out, and clears the session cookie.
    pub(crate) fn without_session(&self, signed_out: SignedOut) -> Result<HttpResponse, ApiError> {
        let mut response = see_other(&format!("/?signed-out={}", signed_out.word()))?;
        response.headers_mut().append(header::SET_COOKIE, self.session_cookie.clear()?);
        Ok(response)
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

    /// Returns the theme that the visitor chose.
    pub(crate) fn theme(&self, request: &HttpRequest) -> Theme {
        self.theme_cookie.read(request.headers()).map_or(Theme::System, Theme::named)
    }

    /// Returns the frame of a page.
    pub(crate) fn frame<'a>(&'a self, title: &'a str, here: Here, visitor: Navigation) -> Frame<'a> {
        Frame { site: &self.site, title, here, visitor }
    }
}
