//! `GET /`: how the service and the bot are.

use super::context::PublicContext;
use crate::{
    body::UnusedBody,
    edge::Receipt,
    envelope,
    error::ApiError,
    headers,
    openapi::{NoCache, failure::Everywhere},
    wire::{self, milliseconds},
};
use actix_web::{HttpRequest, HttpResponse, web};

/// The status of the service and the bot
#[utoipa::path(
    get, path = "/", operation_id = "getStatus", tag = "public",
    params((
        "Sent-Epoch" = Option<String>,
        Header,
        description = "When the request was sent, in seconds since 1970 with an optional fraction, for \
                       `latency.response`. What cannot be read counts as not sent.",
        example = "1700000000.25",
    )),
    responses(
        (
            status = 200,
            description = "How both are.",
            body = wire::Status<'_>,
            headers(("Cache-Control" = inline(NoCache))),
        ),
        Everywhere,
    )
)]
pub(crate) async fn report(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(context.settings.body_limit).await?;
    let bot = context.projections.status().ok_or_else(ApiError::not_loaded)?;
    let status = wire::Status {
        version: (&context.settings.build).into(),
        resources: wire::Resources { memory: bot.memory.get() },
        health: wire::Health { api: wire::Api { latency: latency(&request) }, bot: (&bot).into() },
    };
    envelope::answer("The service is online.", status, NoCache::VALUE)
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
