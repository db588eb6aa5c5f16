//! Which pages may read our answers.

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
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("X-Request-Id, Retry-After, Age, ETag");
/// Browsers may remember a preflight for two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
const VARY: HeaderValue = HeaderValue::from_static("Origin");

/// Where a request comes from, as far as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller<'a> {
    /// It names no origin, as backends and tools do.
    Unnamed,
    /// It comes from a page of this configured origin.
    Known(&'a Origin),
    /// It comes from a page of some other origin, or names its origin in no way that makes sense.
    Stranger,
}

impl<'a> Caller<'a> {
    /// Who sent these headers.
    pub(crate) fn of(headers: &HeaderMap, allowed: &'a [Origin]) -> Self {
        match only(headers, &header::ORIGIN) {
            Only::Absent => Self::Unnamed,
            Only::Repeated => Self::Stranger,
            Only::Once(sent) => {
                let known = allowed.iter().find(|origin| origin.as_str().as_bytes() == sent.as_bytes());
                known.map_or(Self::Stranger, Self::Known)
            }
        }
    }
}

/// What the browser is told about one answer.
#[derive(Debug, Clone)]
pub(super) struct CorsHeaders {
    /// The origin that may read it.
    origin: Option<HeaderValue>,
    /// Whether the browser asks beforehand, by OPTIONS.
    preflight: bool,
}

impl CorsHeaders {
    /// What a request with these headers will be told.
    pub(super) fn of(method: &Method, headers: &HeaderMap, allowed: &[Origin]) -> Self {
        let origin = match Caller::of(headers, allowed) {
            Caller::Known(_) => headers.get(header::ORIGIN).cloned(),
            Caller::Unnamed | Caller::Stranger => None,
        };
        let preflight =
            method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        Self { origin, preflight }
    }

    /// Tells the browser. An answer to OPTIONS has `Allow`, and to a browser that asks beforehand the methods in it
    /// are what it asks about.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        // The answer differs with the origin even when there is none: caches must not mix them up.
        headers.insert(header::VARY, VARY);
        let Some(origin) = &self.origin else { return };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        let methods = headers.get(header::ALLOW).filter(|_| self.preflight).cloned();
        if let Some(methods) = methods {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        }
    }
}
