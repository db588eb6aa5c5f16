//! What the dashboard is told, and what handlers work with.

use crate::{
    change_signal::ChangeSignal,
    cookie::{Cookie, SigningKeys},
    page::{Frame, Here, Navigation, Protection, see_other},
    places::Places,
    site::{Pictures, Site},
    view::Views,
};
use actix_web::{HttpResponse, http::header};
use companion_domain::{
    model::{Name, Span, WebUrl},
    port::{Clock, Entropy},
    usecase::{
        Authenticate, ChangeDispatcher, ExplainGuild, ForgetUser, ListGuilds, ManageSessions, PickFeedback,
        ReportStatus, ShowUser, UseCases,
    },
};
use companion_http::{ApiError, Gate, Origin, Projections, SignInAttempts, TrustedProxies};
use std::sync::Arc;

/// How the dashboard behaves.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// Its address, as browsers see it.
    pub url: Origin,
    /// What the bot is called.
    pub name: Name,
    /// Where the bot is invited to a guild.
    pub invite_url: Option<WebUrl>,
    /// Where people get help.
    pub support_url: Option<WebUrl>,
    /// Where users sign in; nothing where no application is configured.
    pub platform: Option<PlatformApplication>,
    /// Where the platform's pictures are. Others are not shown.
    pub cdn_url: WebUrl,
    /// How long a session can live at most.
    pub session_lifetime: Span,
    /// Sign what browsers keep for us.
    pub keys: SigningKeys,
    /// The largest request body that is read, in bytes.
    pub body_limit: usize,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Whether the listener speaks TLS itself. Browsers are then told not to come without it.
    pub tls: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
}

/// The application that users sign in to at the platform.
#[derive(Debug, Clone)]
pub struct PlatformApplication {
    /// Where the platform asks users whether they want to.
    pub authorize_url: WebUrl,
    /// The application's id.
    pub client_id: String,
}

/// What the dashboard does.
#[derive(Clone)]
pub struct DashboardUseCases {
    /// Recognises sessions.
    pub authenticate: Arc<Authenticate>,
    /// Lists guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Explains what a user is shown of a guild.
    pub explain: Arc<ExplainGuild>,
    /// Lists and ends sessions.
    pub sessions: Arc<ManageSessions>,
    /// Shows what is stored about users.
    pub show_user: Arc<ShowUser>,
    /// Forgets users.
    pub forget: Arc<ForgetUser>,
    /// Picks feedback.
    pub pick_feedback: Arc<PickFeedback>,
    /// Reports how the bot is.
    pub report_status: Arc<ReportStatus>,
    /// Leads along the changes.
    pub dispatcher: Arc<ChangeDispatcher>,
}

impl From<&UseCases> for DashboardUseCases {
    fn from(all: &UseCases) -> Self {
        Self {
            authenticate: all.authenticate.clone(),
            list_guilds: all.list_guilds.clone(),
            explain: all.explain.clone(),
            sessions: all.sessions.clone(),
            show_user: all.show_user.clone(),
            forget: all.forget.clone(),
            pick_feedback: all.pick_feedback.clone(),
            report_status: all.report_status.clone(),
            dispatcher: all.dispatcher.clone(),
        }
    }
}

/// The use cases, and what else the handlers need to know.
pub(crate) struct DashboardContext {
    pub(crate) use_cases: DashboardUseCases,
    pub(crate) projections: Arc<Projections>,
    pub(crate) sign_ins: Arc<SignInAttempts>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) settings: DashboardSettings,
    pub(crate) site: Site,
    pub(crate) protection: Protection,
    /// Holds a session's token.
    pub(crate) session_cookie: Cookie,
    /// Holds a sign-in that has begun.
    pub(crate) sign_in_cookie: Cookie,
    /// Tells open pages of changes.
    pub(crate) changes: Arc<ChangeSignal>,
    /// Places for open pages. Pages without one show how things were when they were loaded.
    pub(crate) places: Arc<Places>,
    /// What open pages show by now.
    pub(crate) views: Views,
    /// The way to storage.
    pub(crate) gate: Gate,
    /// The way to newer lists of the platform.
    pub(crate) newer_lists: Gate,
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
        let site = Site {
            name: settings.name.to_string(),
            invite_url: text(&settings.invite_url),
            support_url: text(&settings.support_url),
            pictures,
        };
        let session_cookie = Cookie::new("companion", &settings.url);
        let sign_in_cookie = Cookie::new("companion-sign-in", &settings.url);
        let changes = ChangeSignal::new();
        use_cases.dispatcher.add(changes.clone());
        Self {
            use_cases,
            projections,
            sign_ins,
            clock,
            entropy,
            settings,
            site,
            protection,
            session_cookie,
            sign_in_cookie,
            changes,
            places: Arc::default(),
            views: Views::default(),
            gate: Gate::default(),
            newer_lists: Gate::default(),
        }
    }

    /// Back to the home page, without the session.
    pub(crate) fn without_session(&self) -> Result<HttpResponse, ApiError> {
        let mut response = see_other("/")?;
        response.headers_mut().append(header::SET_COOKIE, self.session_cookie.clear()?);
        Ok(response)
    }

    /// What stands around a page.
    pub(crate) fn frame<'a>(&'a self, title: &'a str, here: Here, visitor: Navigation) -> Frame<'a> {
        Frame { site: &self.site, title, here, visitor }
    }
}
