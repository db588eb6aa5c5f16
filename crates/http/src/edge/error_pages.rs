//! Errors for people, where a listener serves pages.

use crate::error::{ApiError, Problem};
use actix_web::HttpResponse;

/// Shows errors as pages instead of envelopes. The edge adds what every error has: when to try again, what a path answers
/// to, and that nobody keeps it.
pub trait ErrorPages: Send + Sync {
    /// The answer to a request of this id that failed.
    fn page(&self, error: &ApiError, problem: &Problem, request_id: &str) -> HttpResponse;
}
