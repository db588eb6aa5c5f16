//! Processing common to all requests of the API.

use crate::{Route, fault, state::ServerState};
use actix_web::{HttpRequest, HttpResponse, http::header};
use serde_json::json;

/// Counts the call, applies the latency, waits while the route is held, responds, and counts the response.
pub(super) async fn answer(
    route: Route,
    request: &HttpRequest,
    shared: &ServerState,
    serve: impl FnOnce() -> HttpResponse,
) -> HttpResponse {
    shared.calls.count(route);
    if !shared.latency.is_zero() {
        tokio::time::sleep(shared.latency).await;
    }
    shared.calls.released(route).await;
    let response = answer_or_fail(route, request, shared, serve).await;
    shared.calls.count_answer(route, response.status().as_u16());
    response
}

/// Rejects clients without a `User-Agent`; otherwise responds, or fails as planned.
async fn answer_or_fail(
    route: Route,
    request: &HttpRequest,
    shared: &ServerState,
    serve: impl FnOnce() -> HttpResponse,
) -> HttpResponse {
    if header_text(request, &header::USER_AGENT).is_none_or(str::is_empty) {
        return HttpResponse::Forbidden().json(json!({"message": "a User-Agent is required", "code": 40333}));
    }
    match shared.faults.next(route) {
        None => serve(),
        Some(fault) => fault::respond_with(&fault, request).await,
    }
}

pub(super) fn header_text<'a>(request: &'a HttpRequest, name: &header::HeaderName) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}
