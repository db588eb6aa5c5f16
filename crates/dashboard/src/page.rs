//! A page as an answer, and the headers that every answer has.

use crate::{asset, site::Site};
use actix_web::{
    HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
};
use askama::Template;
use companion_http::ApiError;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// What a page shows depends on who looks, and when.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("private, no-store");

/// What stands around the content of every page.
pub(crate) struct Frame<'a> {
    pub(crate) site: &'a Site,
    pub(crate) title: &'a str,
    /// The page's place in the navigation.
    pub(crate) here: Here,
    pub(crate) visitor: Navigation,
}

impl Frame<'_> {
    /// What forms need, where someone is signed in.
    pub(crate) fn form_token(&self) -> Option<&str> {
        match &self.visitor {
            Navigation::SignedIn { form_token } => Some(form_token),
            Navigation::Guest { .. } => None,
        }
    }

    /// The way in.
    pub(crate) fn sign_in(&self) -> &str {
        match &self.visitor {
            Navigation::Guest { sign_in } => sign_in,
            Navigation::SignedIn { .. } => "/sign-in",
        }
    }
}

/// A place in the navigation.
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

impl Here {
    /// Templates compare by name.
    pub(crate) fn is(&self, name: &str) -> bool {
        let own = match self {
            Self::Home => "home",
            Self::Team => "team",
            Self::Status => "status",
            Self::Guilds => "guilds",
            Self::Devices => "devices",
            Self::MyData => "my-data",
            Self::Elsewhere => "",
        };
        own == name
    }
}

/// What the navigation offers.
pub(crate) enum Navigation {
    /// A way in, which leads back to where one is.
    Guest { sign_in: String },
    /// The pages of a signed-in user, and a way out, with the token that forms need.
    SignedIn { form_token: String },
}

/// A page as text.
pub(crate) fn render(page: &impl Template) -> Result<String, ApiError> {
    page.render().map_err(|error| ApiError::Internal(error.into()))
}

/// A page with this status.
pub(crate) fn answer(status: StatusCode, page: &impl Template) -> Result<HttpResponse, ApiError> {
    Ok(response(status, render(page)?))
}

/// A page that a script keeps up to date.
pub(crate) fn live(page: &str) -> HttpResponse {
    response(StatusCode::OK, asset::written_into(page))
}

fn response(status: StatusCode, body: String) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    response.insert_header((header::CONTENT_TYPE, MEDIA_TYPE));
    response.insert_header((header::CACHE_CONTROL, NO_STORE));
    response.body(body)
}

/// A page.
pub(crate) fn show(page: &impl Template) -> Result<HttpResponse, ApiError> {
    answer(StatusCode::OK, page)
}

/// Sends a browser to another page, which it gets.
pub(crate) fn see_other(place: &str) -> Result<HttpResponse, ApiError> {
    let place = HeaderValue::try_from(place).map_err(|error| ApiError::Internal(error.into()))?;
    let mut response = HttpResponse::SeeOther();
    response.insert_header((header::LOCATION, place)).insert_header((header::CACHE_CONTROL, NO_STORE));
    Ok(response.finish())
}

/// What browsers are told about every answer, beside what the edge tells all clients: that nothing runs or is loaded but what is ours and the platform's pictures, that nobody frames it, and that no other site hears where someone comes from.
#[derive(Debug, Clone)]
pub(crate) struct Protection(HeaderValue);

impl Protection {
    /// Pages whose pictures come from this origin.
    pub(crate) fn new(pictures: &str) -> Self {
        let policy = format!(
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' {pictures}; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        );
        // An origin has nothing that a header could not hold; without pictures a page is still a page.
        let fallback = HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'",
        );
        Self(HeaderValue::try_from(policy).unwrap_or(fallback))
    }

    /// Adds the headers to an answer.
    pub(crate) fn add(&self, headers: &mut HeaderMap) {
        const PLAIN: [(HeaderName, &str); 4] = [
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "same-origin"),
            (header::CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
            (header::CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        ];
        headers.insert(header::CONTENT_SECURITY_POLICY, self.0.clone());
        for (name, value) in PLAIN {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
