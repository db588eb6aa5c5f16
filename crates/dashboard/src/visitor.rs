//! Who looks at a page.

use crate::{
    context::DashboardContext,
    failure::{Trouble, trouble},
    page::{Navigation, see_other},
    pending_sign_in::ReturnPath,
};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
};
use companion_domain::session::Session;
use companion_http::{ApiError, session_of};

const FORM_PURPOSE: &str = "form";

/// Whoever looks at a page.
pub(crate) enum Visit {
    /// Someone without a session.
    Guest,
    /// Someone whose session has ended.
    Ended,
    /// A signed-in user.
    SignedIn(Visitor),
}

/// A signed-in user.
pub(crate) struct Visitor {
    pub(crate) session: Session,
}

impl Visit {
    /// Whose request this is.
    pub(crate) async fn of(context: &DashboardContext, request: &HttpRequest) -> Result<Self, ApiError> {
        let Some(token) = context.session_cookie.read(request.headers()) else { return Ok(Self::Guest) };
        let found = session_of(token, &context.use_cases.authenticate, &context.gate, request);
        match found.await {
            Ok(session) => Ok(Self::SignedIn(Visitor { session })),
            Err(ApiError::TokenInvalid) => Ok(Self::Ended),
            Err(error) => Err(error),
        }
    }

    /// The same for a page that everyone may see: where nobody can be recognised now, it is shown as to a guest.
    pub(crate) async fn or_guest(context: &DashboardContext, request: &HttpRequest) -> Self {
        Self::of(context, request).await.unwrap_or(Self::Guest)
    }

    /// What the navigation offers them on the page at this path.
    pub(crate) fn navigation(&self, context: &DashboardContext, path: &str) -> Navigation {
        match self {
            Self::SignedIn(visitor) => visitor.navigation(context),
            Self::Guest | Self::Ended => Navigation::Guest { sign_in: sign_in_link(path) },
        }
    }
}

impl Visitor {
    /// What the navigation offers them.
    pub(crate) fn navigation(&self, context: &DashboardContext) -> Navigation {
        Navigation::SignedIn { form_token: self.form_token(context) }
    }

    /// What a form of this session has to bring along: no other site can know it.
    pub(crate) fn form_token(&self, context: &DashboardContext) -> String {
        context.settings.keys.first().sign(FORM_PURPOSE, &self.session.id.to_string())
    }

    /// Whether a form brought it along.
    pub(crate) fn sent_form(&self, context: &DashboardContext, token: &str) -> bool {
        context.settings.keys.signer(FORM_PURPOSE, &self.session.id.to_string(), token).is_some()
    }
}

/// Answers a signed-in user. Everyone else is led to the sign-in, and from there back to this page; someone who does not know
/// yet that their session has ended is told so first.
pub(crate) async fn signed_in(
    context: &DashboardContext,
    request: &HttpRequest,
    answer: impl AsyncFnOnce(Visitor) -> Result<HttpResponse, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let path = request.path();
    match Visit::of(context, request).await? {
        Visit::SignedIn(visitor) => answer(visitor).await,
        Visit::Guest => see_other(&sign_in_link(path)),
        Visit::Ended => signed_out(context, path),
    }
}

/// Tells someone that their session has ended, with a way back to the page at this path.
pub(crate) fn signed_out(context: &DashboardContext, path: &str) -> Result<HttpResponse, ApiError> {
    let over = Trouble {
        title: "You are signed out",
        words: "Your session has ended, here or on another device. Sign in again to go on.".to_owned(),
        way_on: Some((sign_in_link(path), "Sign in again")),
        request_id: None,
    };
    let guest = Navigation::Guest { sign_in: sign_in_link(path) };
    let mut response = trouble(&context.site, StatusCode::UNAUTHORIZED, guest, over)?;
    response.headers_mut().append(header::SET_COOKIE, context.session_cookie.clear()?);
    Ok(response)
}

/// The way to the sign-in, and from there back to a page.
pub(crate) fn sign_in_link(path: &str) -> String {
    let back = ReturnPath::of(Some(path));
    // Nothing in such a path has to be escaped in a query.
    format!("/sign-in?return={}", back.as_str())
}
