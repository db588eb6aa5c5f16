//! The platform's rate limits: requests per route and token in a fixed window.

use crate::{RateLimit, Route};
use actix_web::{HttpResponse, http::header::HeaderName};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};

/// Number of buckets above which expired ones are removed.
const CLEAN_UP_ABOVE: usize = 10_000;

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

    /// Takes one request from the bucket of a token. Responds with this content, or that the limit is exceeded, and with the
    /// state of the bucket.
    pub(crate) fn answer(
        &mut self,
        route: Route,
        token: &str,
        now: Duration,
        content: Value,
    ) -> HttpResponse {
        let Some(rule) = self.rule else { return HttpResponse::Ok().json(content) };
        if self.used.len() > CLEAN_UP_ABOVE {
            self.used.retain(|_, (began, _)| now < *began + rule.per);
        }
        let (began, used) = self.used.entry((route, token.to_owned())).or_insert((now, 0));
        if now >= *began + rule.per {
            (*began, *used) = (now, 0);
        }
        let reset_after = (*began + rule.per).saturating_sub(now);
        let mut response = match *used >= rule.requests {
            true => too_many(reset_after, false),
            false => HttpResponse::Ok().json(content),
        };
        *used = used.saturating_add(1);
        for (name, value) in [
            ("x-ratelimit-limit", rule.requests.to_string()),
            ("x-ratelimit-remaining", rule.requests.saturating_sub(*used).to_string()),
            ("x-ratelimit-reset-after", format!("{:.3}", reset_after.as_secs_f64())),
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
