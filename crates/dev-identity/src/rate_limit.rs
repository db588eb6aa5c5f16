//! The platform's rate limits: requests per route and token in a fixed window.

use crate::{RateLimit, Route};
use actix_web::{HttpResponse, http::header::HeaderName};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};

/// Number of buckets above which expired ones are removed.
const CLEAN_UP_ABOVE: usize = 10_000;

/// The state of a bucket after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset_after: Duration,
    pub(crate) exceeded: bool,
}

#[derive(Debug)]
pub(crate) struct RateLimits {
    rule: Option<RateLimit>,
    used: HashMap<(Route, String), (Duration, u32)>,
}

impl RateLimits {
    pub(crate) fn new(rule: Option<RateLimit>) -> Self {
        Self { rule, used: HashMap::new() }
    }

    pub(crate) fn set(&mut self, rule: Option<RateLimit>) {
        *self = Self::new(rule);
    }

    /// Takes one request from the bucket. Returns `None` if there is no limit.
    pub(crate) fn take(&mut self, route: Route, token: &str, now: Duration) -> Option<Bucket> {
        let rule = self.rule?;
        if self.used.len() > CLEAN_UP_ABOVE {
            self.used.retain(|_, (began, _)| now < *began + rule.per);
        }
        let (began, used) = self.used.entry((route, token.to_owned())).or_insert((now, 0));
        if now >= *began + rule.per {
            (*began, *used) = (now, 0);
        }
        let exceeded = *used >= rule.requests;
        *used = used.saturating_add(1);
        Some(Bucket {
            limit: rule.requests,
            remaining: rule.requests.saturating_sub(*used),
            reset_after: (*began + rule.per).saturating_sub(now),
            exceeded,
        })
    }
}

impl Bucket {
    /// Responds with this content, or that the limit is exceeded, and with the state of the bucket.
    pub(crate) fn answer(&self, route: Route, content: Value) -> HttpResponse {
        let mut response = match self.exceeded {
            true => too_many(self.reset_after, false),
            false => HttpResponse::Ok().json(content),
        };
        for (name, value) in [
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", self.remaining.to_string()),
            ("x-ratelimit-reset-after", format!("{:.3}", self.reset_after.as_secs_f64())),
            ("x-ratelimit-bucket", format!("{route:?}").to_lowercase()),
        ] {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// Returns the platform's rate limit response.
pub(crate) fn too_many(retry_after: Duration, global: bool) -> HttpResponse {
    let seconds = retry_after.as_secs_f64();
    let mut response = HttpResponse::TooManyRequests();
    response.insert_header(("Retry-After", seconds.ceil().to_string()));
    response.insert_header(("X-RateLimit-Scope", if global { "global" } else { "user" }));
    if global {
        response.insert_header(("X-RateLimit-Global", "true"));
    }
    response.json(json!({
        "message": "You are being rate limited.",
        "retry_after": seconds,
        "global": global,
    }))
}
