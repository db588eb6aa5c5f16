//! `GET /health/live` and `GET /health/ready`: for those who restart and route.

use super::{Shared, request::NoBody, success};
use crate::{envelope, error::ApiError, wire::Nothing};
use actix_web::{HttpResponse, web};
use async_trait::async_trait;
use std::time::Duration;
use tokio::time::timeout;

/// A probe that has not answered by then has answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// Knows whether traffic should come here.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Returns when the service is ready; the error says in a few words what is missing.
    async fn check(&self) -> Result<(), String>;
}

/// The process runs and answers.
pub(super) async fn live(_: NoBody) -> Result<HttpResponse, ApiError> {
    healthy("Alive.")
}

/// Traffic is welcome.
pub(super) async fn ready(shared: web::Data<Shared>, _: NoBody) -> Result<HttpResponse, ApiError> {
    match timeout(PATIENCE, shared.readiness.check()).await {
        Ok(Ok(())) => healthy("Ready for traffic."),
        Ok(Err(why)) => Err(ApiError::NotReady(why)),
        Err(_) => Err(ApiError::NotReady("no answer in time".to_owned())),
    }
}

fn healthy(message: &str) -> Result<HttpResponse, ApiError> {
    Ok(success(envelope::success(message, Nothing {})?))
}
