//! `GET /health/live` and `GET /health/ready`: for those who restart and route.

use crate::{change::answer, context::ManagementContext, request::NoBody};
use actix_web::{HttpResponse, web};
use companion_http::{ApiError, openapi::failure, wire::Nothing};
use std::time::Duration;
use tokio::time::timeout;

/// A probe that has not answered by then has answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the process runs
#[utoipa::path(
    get, path = "/health/live", operation_id = "isAlive", tag = "health",
    responses((status = 200, description = "The process answers.", body = Nothing), failure::Reading)
)]
pub(crate) async fn live(_: NoBody) -> Result<HttpResponse, ApiError> {
    answer("Alive.", Nothing {})
}

/// Whether traffic is welcome
///
/// Both listeners accept, storage answers and is migrated, the public answers are loaded, and the service is not about to
/// stop.
#[utoipa::path(
    get, path = "/health/ready", operation_id = "isReady", tag = "health",
    responses((status = 200, description = "Traffic is welcome.", body = Nothing), failure::Readiness)
)]
pub(crate) async fn ready(
    context: web::Data<ManagementContext>,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    match timeout(PATIENCE, context.readiness.check()).await {
        Ok(Ok(())) => answer("Ready for traffic.", Nothing {}),
        Ok(Err(why)) => Err(ApiError::NotReady(why)),
        Err(_) => Err(ApiError::NotReady("no answer in time".to_owned())),
    }
}
