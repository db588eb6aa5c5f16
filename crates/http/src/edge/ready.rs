//! Answers that are ready in memory. They are given before a request is routed: finding a handler and waiting for it costs
//! more than such an answer itself.

use crate::receipt::Receipt;
use actix_web::{HttpRequest, HttpResponse};

/// Has answers that need nothing but memory.
pub(crate) trait ReadyAnswers: Send + Sync {
    /// The answer to a GET or HEAD without a body, where it is at hand. Everything else, failures included, is for the
    /// handler on the same path.
    fn ready(&self, request: &HttpRequest, receipt: &Receipt) -> Option<ReadyAnswer>;
}

/// An answer, and the path that metrics count it under.
pub(crate) struct ReadyAnswer {
    pub(crate) path: &'static str,
    pub(crate) response: HttpResponse,
}
