//! CORS headers.

use crate::{
    headers::{Only, only},
    origin::Origin,
};
use actix_web::http::{
    Method,
    header::{self, HeaderMap, HeaderValue},
};

const ALLOWED_HEADERS: HeaderValue =
    HeaderValue::from_static("Token, Idp-Code, Idp-Code-Verifier, Sent-Epoch");
/// For paths that accept changes.
const ALLOWED_HEADERS_OF_CHANGES: HeaderValue =
    HeaderValue::from_static("Token, Idp-Code, Idp-Code-Verifier, Sent-Epoch, If-Match, Content-Type");
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("X-Request-Id, Retry-After, Age, ETag");
/// Browsers may cache a preflight response for two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const VARY: HeaderValue = HeaderValue::from_static("Origin");

/// The origin of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller<'a> {
    /// No `Origin` header, as sent by backends and tools.
    NoOrigin,
    /// A configured origin.
    Known(&'a Origin),
    /// Another origin, or a repeated header.
    Foreign,
}

impl<'a> Caller<'a> {
    /// Returns the origin of a request with these headers.
    pub(crate) fn of(headers: &HeaderMap, allowed: &'a [Origin]) -> Self {
        match only(headers, &header::ORIGIN) {
            Only::Absent => Self::NoOrigin,
            Only::Repeated => Self::Foreign,
            Only::Once(sent) => {
                let known = allowed.iter().find(|origin| origin.as_str().as_bytes() == sent.as_bytes());
                known.map_or(Self::Foreign, Self::Known)
            }
        }
    }
}

/// The CORS headers of one response.
#[derive(Debug, Clone)]
pub(super) struct CorsHeaders {
    /// The allowed origin to echo.
    origin: Option<HeaderValue>,
    /// Whether the request is a preflight.
    is_preflight: bool,
}

impl CorsHeaders {
    /// Prepares the CORS headers of a response to this request.
    pub(super) fn of(method: &Method, headers: &HeaderMap, allowed: &[Origin]) -> Self {
        let is_known = matches!(Caller::of(headers, allowed), Caller::Known(_));
        let origin = if is_known { headers.get(header::ORIGIN).cloned() } else { None };
        let is_preflight =
            method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        Self { origin, is_preflight }
    }

    /// Writes the headers. For a preflight, the allowed methods are those of `Allow`.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        // Responses differ by origin even without one, so caches must not mix them.
        headers.append(header::VARY, VARY);
        let Some(origin) = &self.origin else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        let methods = headers.get(header::ALLOW).filter(|_| self.is_preflight).cloned();
        if let Some(methods) = methods {
            let changes = methods.to_str().is_ok_and(|methods| methods.contains("PATCH"));
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            let allowed = if changes { ALLOWED_HEADERS_OF_CHANGES } else { ALLOWED_HEADERS };
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
}
