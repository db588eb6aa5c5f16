//! Pages as responses, and their security headers.

use crate::{
    asset,
    site::{Picture, Site},
};
use actix_web::{
    HttpResponse,
    dev::ServiceRequest,
    http::{
        Method, StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
};
use askama::Template;
use companion_http::ApiError;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Content depends on the visitor and the time.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("private, no-store");

/// What surrounds the content of every page.
pub(crate) struct Frame<'a> {
    pub(crate) site: &'a Site,
    pub(crate) title: &'a str,
    /// The page's position in the navigation.
    pub(crate) here: Here,
    pub(crate) visitor: Navigation,
}

impl Frame<'_> {
    /// Returns the chosen theme, unless it is that of the system.
    pub(crate) fn forced_theme(&self) -> Option<&'static str> {
        Some(self.visitor.theme).filter(|theme| *theme != Theme::System).map(Theme::word)
    }

    /// Returns word, name, and whether it is chosen, of each theme.
    pub(crate) fn themes(&self) -> [(&'static str, &'static str, bool); 3] {
        [(Theme::System, "System"), (Theme::Light, "Light"), (Theme::Dark, "Dark")]
            .map(|(theme, name)| (theme.word(), name, theme == self.visitor.theme))
    }
}

/// A position in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Here {
    Home,
    Team,
    Status,
    Guilds,
    Devices,
    MyData,
    Elsewhere,
}

/// What the navigation offers.
pub(crate) struct Navigation {
    pub(crate) theme: Theme,
    /// The sign-in link, which returns to this page.
    pub(crate) sign_in: String,
    /// Pages and a sign-out form, for signed-in users.
    pub(crate) account: Option<Account>,
}

impl Navigation {
    pub(crate) const fn guest(theme: Theme, sign_in: String) -> Self {
        Self { theme, sign_in, account: None }
    }
}

/// The colours of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system of the visitor prefers.
    System,
    Light,
    Dark,
}

impl Theme {
    /// Returns its name in the cookie and the switch.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the theme of this name, otherwise that of the system.
    pub(crate) fn named(word: &str) -> Self {
        [Self::Light, Self::Dark].into_iter().find(|theme| theme.word() == word).unwrap_or(Self::System)
    }
}

/// How the header shows a signed-in user.
pub(crate) struct Account {
    /// The name at the platform, or a word in its place if it is unknown.
    pub(crate) name: String,
    pub(crate) picture: Picture,
    /// The token of the sign-out form.
    pub(crate) form_token: String,
}

/// A response, or the error that is shown in its place.
pub(crate) type Answer = Result<HttpResponse, ApiError>;

/// Renders a page.
pub(crate) fn render(page: &impl Template) -> Result<String, ApiError> {
    page.render().map_err(|error| ApiError::Internal(error.into()))
}

/// Responds with a page and this status.
pub(crate) fn answer(status: StatusCode, page: &impl Template) -> Answer {
    Ok(response(status, render(page)?))
}

/// Responds with a page that the script keeps live.
pub(crate) fn live(page: &str) -> HttpResponse {
    live_with(StatusCode::OK, page)
}

/// Responds with this status and a page that the script keeps live.
pub(crate) fn live_with(status: StatusCode, page: &str) -> HttpResponse {
    response(status, asset::with_fingerprint(page))
}

fn response(status: StatusCode, body: String) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CONTENT_TYPE, MEDIA_TYPE));
    response.insert_header((header::CACHE_CONTROL, NO_STORE));
    response.body(body)
}

/// Responds with a page.
pub(crate) fn show(page: &impl Template) -> Answer {
    answer(StatusCode::OK, page)
}

/// Redirects the browser to another page with 303, which it requests with GET.
pub(crate) fn see_other(place: &str) -> Answer {
    let place = HeaderValue::try_from(place).map_err(|error| ApiError::Internal(error.into()))?;
    let mut response = HttpResponse::SeeOther();
    response.insert_header((header::LOCATION, place)).insert_header((header::CACHE_CONTROL, NO_STORE));
    Ok(response.finish())
}

/// Adds a cookie, or the end of one, to a response.
pub(crate) fn with_cookie(mut response: HttpResponse, cookie: HeaderValue) -> HttpResponse {
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

/// Redirects a path that ends in a slash to the same one without it, which no route has. Returns `None` for others.
pub(crate) fn without_trailing_slash(request: &ServiceRequest) -> Option<Answer> {
    let path = request.uri().path().trim_end_matches('/');
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    // A path that begins with two slashes, or one and a backslash, would be another host.
    let is_ours = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    if !is_read || !is_ours || path.len() == request.uri().path().len() {
        return None;
    }
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let response = see_other(&format!("{path}{query}")).map(|mut response| {
        *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        response
    });
    Some(response)
}

/// Security headers beyond those of the edge. Browsers may only load our own files and the platform's pictures, may not
/// frame a page, and send no referrer to other sites.
#[derive(Debug, Clone)]
pub(crate) struct Protection(HeaderValue);

impl Protection {
    /// Allows pictures from this origin.
    pub(crate) fn new(pictures: &str) -> Self {
        let policy = format!(
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' {pictures}; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        );
        // An origin is always a valid header value, so the fallback is never used.
        Self(HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'")))
    }

    /// Adds the headers to a response.
    pub(crate) fn add(&self, headers: &mut HeaderMap) {
        const PLAIN: [(HeaderName, &str); 4] = [
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
            (header::CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        ];
        // Pictures that can contain scripts have a policy of their own.
        if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            headers.insert(header::CONTENT_SECURITY_POLICY, self.0.clone());
        }
        for (name, value) in PLAIN {
            // What other sites may embed says so itself.
            if !headers.contains_key(&name) {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
    }
}
