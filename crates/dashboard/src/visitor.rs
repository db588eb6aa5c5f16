//! Authentication of visitors.

use crate::{
    context::Exchange,
    failure::{SIGNED_OUT, error_page},
    page::{Account, Answer, Navigation, see_other, with_cookie},
    pending_sign_in::return_path,
};
use actix_web::{Handler, HttpMessage as _, http::StatusCode};
use companion_domain::{
    model::{Profile, UserId},
    session::Session,
};
use companion_http::{
    ApiError,
    routing::{Resource, reading},
    session_of,
};
use futures_util::FutureExt as _;

const FORM_PURPOSE: &str = "form";

/// The authentication state of a request.
pub(crate) enum Visit {
    /// Without a session.
    Guest,
    /// With a session that has ended.
    Ended,
    /// A signed-in user.
    SignedIn(Visitor),
}

impl Visit {
    /// Authenticates a request by its session cookie.
    pub(crate) async fn of(exchange: &Exchange) -> Result<Self, ApiError> {
        let Exchange { context, request } = exchange;
        let Some(token) = context.session_cookie.read(request.headers()) else {
            return Ok(Self::Guest);
        };
        let found = session_of(token, &context.use_cases.authenticate, &context.storage_limiter, request);
        match found.await {
            Ok(session) => Ok(Self::SignedIn(Visitor { exchange: exchange.clone(), session, profile: None })),
            Err(ApiError::TokenInvalid) => Ok(Self::Ended),
            Err(error) => Err(error),
        }
    }
}

/// A request of a signed-in user.
pub(crate) struct Visitor {
    pub(crate) exchange: Exchange,
    pub(crate) session: Session,
    /// Name and picture. `None` if they are unknown or were not read.
    profile: Option<Profile>,
}

impl Visitor {
    /// Reads the name and picture of the user, for the header of a page.
    pub(crate) async fn named(self) -> Self {
        let profile = self.exchange.context.use_cases.list_guilds.profile(self.user());
        let profile = self.exchange.read(profile).await.unwrap_or_default();
        Self { profile, ..self }
    }

    pub(crate) const fn user(&self) -> UserId {
        self.session.user
    }

    /// Returns the navigation of a signed-in user.
    pub(crate) fn navigation(&self) -> Navigation {
        Navigation { theme: self.exchange.theme(), sign_in: String::new(), account: Some(self.account()) }
    }

    /// Returns how the user is shown.
    pub(crate) fn account(&self) -> Account {
        let (name, avatar) = match &self.profile {
            Some(profile) => (profile.name.as_str(), profile.avatar.as_str()),
            None => ("Account", ""),
        };
        let picture = self.exchange.context.site.pictures.picture(avatar, name);
        Account { name: name.to_owned(), picture, form_token: self.form_token() }
    }

    /// Returns the CSRF token that forms of this session must contain.
    pub(crate) fn form_token(&self) -> String {
        self.exchange.context.settings.keys.first().sign(FORM_PURPOSE, &self.session.id.to_string())
    }

    /// Whether this is a valid form token of the session.
    pub(crate) fn is_form_token(&self, token: &str) -> bool {
        let keys = &self.exchange.context.settings.keys;
        keys.signer(FORM_PURPOSE, &self.session.id.to_string(), token).is_some()
    }
}

/// Returns the resource of a page that needs a session.
pub(crate) fn page<F>(path: &'static str, show: F) -> Resource
where
    F: AsyncFn(Visitor) -> Answer + Clone + 'static,
{
    reading(path, signed_in(show))
}

/// Returns the handler of a page that needs a session. Guests are redirected to the sign-in, and from there back. A
/// visitor whose session has ended is told so first.
pub(crate) fn signed_in<F>(show: F) -> impl Handler<(Exchange,), Output = Answer>
where
    F: AsyncFn(Visitor) -> Answer + Clone + 'static,
{
    move |exchange: Exchange| {
        let show = show.clone();
        async move {
            match Visit::of(&exchange).await? {
                Visit::SignedIn(visitor) => show(visitor.named().await).await,
                Visit::Guest => see_other(&sign_in_link(exchange.request.path())),
                Visit::Ended => signed_out(&exchange, exchange.request.path()),
            }
        }
    }
}

/// Responds that the session has ended, with a link back to this path.
pub(crate) fn signed_out(exchange: &Exchange, path: &str) -> Answer {
    let (site, link) = (&exchange.context.site, sign_in_link(path));
    let guest = Navigation::guest(exchange.theme(), link.clone());
    let way_on = (link.as_str(), "Sign in again");
    let response = error_page(site, StatusCode::UNAUTHORIZED, guest, SIGNED_OUT, &[way_on], None)?;
    Ok(with_cookie(response, exchange.context.session_cookie.clear()?))
}

/// Returns the navigation of the public page at this path. If authentication fails, it is that of a guest.
pub(crate) async fn navigation(exchange: &Exchange, path: &str) -> Navigation {
    match Visit::of(exchange).await {
        Ok(Visit::SignedIn(visitor)) => visitor.named().await.navigation(),
        Ok(Visit::Guest | Visit::Ended) | Err(_) => Navigation::guest(exchange.theme(), sign_in_link(path)),
    }
}

/// Notes whose header the error page of this request gets. If the service itself fails, only what is in memory is read: a
/// visitor should not wait for the store twice.
pub(crate) async fn keep_header(exchange: &Exchange, status: StatusCode) {
    let navigation = navigation(exchange, "/");
    let navigation =
        if status.is_server_error() { navigation.now_or_never() } else { Some(navigation.await) };
    if let Some(navigation) = navigation {
        exchange.request.extensions_mut().insert(navigation);
    }
}

/// Returns the sign-in link that returns to this path.
fn sign_in_link(path: &str) -> String {
    // A return path needs no escaping in a query.
    format!("/sign-in?return={}", return_path(path))
}
