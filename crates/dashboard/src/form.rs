//! Forms, which alone change data, and parameters of a query.

use crate::{
    context::DashboardContext,
    visitor::{Visit, Visitor, signed_out},
};
use actix_web::{HttpRequest, HttpResponse, http::header::ORIGIN, web};
use companion_http::{
    ApiError,
    body::in_time,
    headers::{Only, only},
};
use futures_util::StreamExt as _;

/// The fields of a form.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Returns the value of a field; empty if it is absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Returns all values of a field, in order.
    pub(crate) fn all(&self, name: String) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(field, _)| *field == name).map(|(_, value)| value.as_str())
    }

    /// Reads a form of at most `limit` bytes. Its `Origin` must be this site.
    pub(crate) async fn of_this_site(
        context: &DashboardContext,
        request: &HttpRequest,
        payload: web::Payload,
        limit: usize,
    ) -> Result<Self, ApiError> {
        match only(request.headers(), &ORIGIN) {
            Only::Once(origin) if origin == context.settings.url.as_str() => {}
            Only::Once(_) | Only::Absent | Only::Repeated => return Err(ApiError::OriginRefused),
        }
        Self::read(payload, limit).await
    }

    async fn read(mut payload: web::Payload, limit: usize) -> Result<Self, ApiError> {
        in_time(async {
            let mut body = Vec::new();
            while let Some(chunk) = payload.next().await {
                body.extend_from_slice(&chunk.map_err(|_| ApiError::BodyBroken)?);
                if body.len() > limit {
                    return Err(ApiError::BodyTooLarge);
                }
            }
            Ok(Self(url::form_urlencoded::parse(&body).into_owned().collect()))
        })
        .await
    }
}

/// Returns the first query parameter of this name.
pub(crate) fn parameter(request: &HttpRequest, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(request.query_string().as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// Handles a form of a signed-in user, of at most `limit` bytes. Its `Origin` must be this site, and it must contain the form token of the
/// session (CSRF protection).
pub(crate) async fn handle_form(
    context: &DashboardContext,
    request: &HttpRequest,
    payload: web::Payload,
    limit: usize,
    answer: impl AsyncFnOnce(Visitor, Form) -> Result<HttpResponse, ApiError>,
) -> Result<HttpResponse, ApiError> {
    let form = Form::of_this_site(context, request, payload, limit).await?;
    match Visit::of(context, request).await?.named(context, request).await {
        Visit::SignedIn(visitor) if visitor.is_form_token(context, form.get("token")) => {
            answer(visitor, form).await
        }
        Visit::SignedIn(_) => Err(ApiError::OriginRefused),
        Visit::Guest(theme) | Visit::Ended(theme) => signed_out(context, "/guilds", theme),
    }
}
