//! `GET /`: how the service and the bot are.

use super::context::PublicContext;
use crate::{
    body::UnusedBody,
    envelope,
    error::ApiError,
    headers,
    openapi::{NoCache, failure::Everywhere},
    receipt::Receipt,
    wire::{self, milliseconds},
};
use actix_web::{HttpRequest, HttpResponse, web};
use std::time::Duration;

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
    let taken = Receipt::of(&request).map_or(Duration::ZERO, |receipt| receipt.taken(&*context.clock));
    reported(&context, &request, taken).ok_or_else(ApiError::not_loaded)?
}

/// The same before routing.
pub(super) fn ready(
    context: &PublicContext,
    request: &HttpRequest,
    receipt: &Receipt,
) -> Option<HttpResponse> {
    reported(context, request, receipt.taken(&*context.clock))?.ok()
}

/// The status, for a request that has taken so long; nothing before it was loaded.
fn reported(
    context: &PublicContext,
    request: &HttpRequest,
    taken: Duration,
) -> Option<Result<HttpResponse, ApiError>> {
    let bot = context.projections.status()?;
    let since_sent = |sent: f64| {
        let received = context.clock.now().before(taken);
        milliseconds(micros(received.micros()) - sent * 1e6)
    };
    let latency = wire::Latency {
        response: headers::sent_epoch(request.headers()).map(since_sent),
        process: milliseconds(taken.as_secs_f64() * 1e6),
    };
    let status = wire::Status {
        version: (&context.settings.build).into(),
        resources: wire::Resources { memory: bot.memory.get() },
        health: wire::Health { api: wire::Api { latency }, bot: (&bot).into() },
    };
    Some(envelope::answer("The service is online.", status, NoCache::VALUE))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times near ours are far below what floating point holds exactly"
)]
const fn micros(micros: i64) -> f64 {
    micros as f64
}
