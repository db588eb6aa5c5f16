//! Authentication of visitors.

use crate::{
    context::DashboardContext,
    failure::{ErrorContent, error_page},
    page::{Account, Navigation, Theme, see_other},
    pending_sign_in::ReturnPath,
};
use actix_web::{
    HttpMessage as _, HttpRequest, HttpResponse,
    http::{StatusCode, header},
};
use companion_domain::{model::Profile, session::Session};
use companion_http::{ApiError, deadline::within_storage, session_of};
use futures_util::FutureExt as _;

const FORM_PURPOSE: &str = "form";

/// The authentication state of a request.
pub(crate) enum Visit {
    /// Without a session.
    Guest(Theme),
    /// With a session that has ended.
    Ended(Theme),
    /// A signed-in user.
    SignedIn(Visitor),
}

/// A signed-in user.
pub(crate) struct Visitor {
    pub(crate) session: Session,
    /// Name and picture. `None` if they are unknown or were not read.
    profile: Option<Profile>,
    theme: Theme,
}

impl Visit {
    /// Authenticates a request by its session cookie.
    pub(crate) async fn of(context: &DashboardContext, request: &HttpRequest) -> Result<Self, ApiError> {
        let theme = context.theme(request);
        let Some(token) = context.session_cookie.read(request.headers()) else {
            return Ok(Self::Guest(theme));
        };
        let found = session_of(token, &context.use_cases.authenticate, &context.storage_limiter, request);
        match found.await {
            Ok(session) => Ok(Self::SignedIn(Visitor { session, profile: None, theme })),
            Err(ApiError::TokenInvalid) => Ok(Self::Ended(theme)),
            Err(error) => Err(error),
        }
    }

    /// Authenticates a request for a public page. If that fails, treats it as a guest's.
    pub(crate) async fn or_guest(context: &DashboardContext, request: &HttpRequest) -> Self {
        Self::of(context, request)
            .await
            .unwrap_or_else(|_| Self::Guest(context.theme(request)))
            .named(context, request)
            .await
    }

    /// Reads the name and picture of a signed-in user, for the header of a page.
    pub(crate) async fn named(mut self, context: &DashboardContext, request: &HttpRequest) -> Self {
        if let Self::SignedIn(visitor) = &mut self {
            let profile = context.use_cases.list_guilds.profile(visitor.session.user);
            let profile = within_storage(&context.storage_limiter, request, profile).await;
            visitor.profile = profile.unwrap_or_default();
        }
        self
    }

    /// Returns the navigation of the page at this path.
    pub(crate) fn navigation(&self, context: &DashboardContext, path: &str) -> Navigation {
        match self {
            Self::SignedIn(visitor) => visitor.navigation(context),
            Self::Guest(theme) | Self::Ended(theme) => {
                Navigation::Guest { sign_in: sign_in_link(path), theme: *theme }
            }
        }
    }
}

impl Visitor {
    /// Returns the navigation of a signed-in user.
    pub(crate) fn navigation(&self, context: &DashboardContext) -> Navigation {
        let (form_token, account) = (self.form_token(context), self.account(context));
        Navigation::SignedIn { form_token, account, theme: self.theme }
    }

    /// Returns how the user is shown.
    pub(crate) fn account(&self, context: &DashboardContext) -> Account {
        let (name, avatar) = match &self.profile {
            Some(profile) => (profile.name.as_str(), profile.avatar.as_str()),
            None => ("Account", ""),
        };
        Account { name: name.to_owned(), picture: context.site.pictures.picture(avatar, name) }
    }

    /// Returns the CSRF token that forms of this session must contain.
    pub(crate) fn form_token(&self, context: &DashboardContext) -> String {
        context.settings.keys.first().sign(FORM_PURPOSE, &self.session.id.to_string())
    }

    /// Whether this is a valid form token of the session.
    pub(crate) fn is_form_token(&self, context: &DashboardContext, token: &str) -> bool {
        context.settings.keys.signer(FORM_PURPOSE, &self.session.id.to_string(), token).is_some()
    }
}

/// Handles a page that needs a session. Guests are redirected to the sign-in, and from there back. A visitor whose
/// session has ended is told so first.
pub(crate) async fn signed_in(
    context: &DashboardContext,
    request: &HttpRequest,
    answer: impl AsyncFnOnce(Visitor) -> Result<HttpResponse, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let path = request.path();
    match Visit::of(context, request).await?.named(context, request).await {
        Visit::SignedIn(visitor) => answer(visitor).await,
        Visit::Guest(_) => see_other(&sign_in_link(path)),
        Visit::Ended(theme) => signed_out(context, path, theme),
    }
}

/// Responds that the session has ended, with a link back to this path.
pub(crate) fn signed_out(
    context: &DashboardContext,
    path: &str,
    theme: Theme,
) -> Result<HttpResponse, ApiError> {
    let over = ErrorContent {
        title: "You are signed out".to_owned(),
        words: "Your session has ended, here or on another device. Sign in again to go on.".to_owned(),
        ways_on: vec![(sign_in_link(path), "Sign in again".to_owned())],
        request_id: None,
    };
    let guest = Navigation::Guest { sign_in: sign_in_link(path), theme };
    let mut response = error_page(&context.site, StatusCode::UNAUTHORIZED, guest, over)?;
    response.headers_mut().append(header::SET_COOKIE, context.session_cookie.clear()?);
    Ok(response)
}

/// Notes whose header the error page of this request gets. If the service itself fails, only what is in memory is read: a
/// visitor should not wait for the store twice.
pub(crate) async fn keep_header(context: &DashboardContext, request: &HttpRequest, status: StatusCode) {
    let visit = Visit::or_guest(context, request);
    let visit = if status.is_server_error() { visit.now_or_never() } else { Some(visit.await) };
    if let Some(visit) = visit {
        request.extensions_mut().insert(visit.navigation(context, "/"));
    }
}

/// Returns the sign-in link that returns to this path.
pub(crate) fn sign_in_link(path: &str) -> String {
    let back = ReturnPath::of(Some(path));
    // A return path needs no escaping in a query.
    format!("/sign-in?return={}", back.as_str())
}
