//! `GET /`: how the service and the bot are.

use super::{Shared, success};
use crate::{
    body::UnusedBody,
    edge::Receipt,
    envelope,
    error::ApiError,
    headers,
    wire::{self, milliseconds},
};
use actix_web::{HttpRequest, HttpResponse, web};

pub(super) async fn report(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(shared.settings.body_limit).await?;
    let bot = shared.projections.status().ok_or_else(ApiError::not_loaded)?;
    let status = wire::Status {
        version: (&shared.settings.build).into(),
        resources: wire::Resources { memory: bot.memory.get() },
        health: wire::Health { api: wire::Api { latency: latency(&request) }, bot: (&bot).into() },
    };
    Ok(success(envelope::success("The service is online.", status)?, "no-cache"))
}

/// How long this request has taken so far.
fn latency(request: &HttpRequest) -> wire::Latency {
    let receipt = Receipt::of(request);
    let since_sent = |receipt: Receipt| {
        let sent = headers::sent_epoch(request.headers())?;
        Some(milliseconds(micros(receipt.at.micros()) - sent * 1e6))
    };
    wire::Latency {
        response: receipt.and_then(since_sent),
        process: receipt.map_or(0.0, |receipt| milliseconds(receipt.since.elapsed().as_secs_f64() * 1e6)),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times near ours are far below what floating point holds exactly"
)]
const fn micros(micros: i64) -> f64 {
    micros as f64
}
