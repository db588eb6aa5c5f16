//! `GET /`: status of the service and the bot.

use super::PublicContext;
use crate::{
    body::UnusedBody,
    envelope,
    error::ApiError,
    headers,
    openapi::{NoCache, failure::Reading},
    request_id::RequestStart,
    wire::{self, milliseconds},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_domain::{change::Kind, usecase::Moment};
use std::time::Duration;

/// The status of the service and the bot
#[utoipa::path(
    get, path = "/", operation_id = "getStatus", tag = "public",
    params((
        "Sent-Epoch" = Option<String>,
        Header,
        description = "When the request was sent, in seconds since 1970 with an optional fraction, for \
                       `latency.response`. A malformed value is ignored.",
        example = "1700000000.25",
    )),
    responses(
        (
            status = 200,
            description = "The status of both.",
            body = wire::Status<'_>,
            headers(("Cache-Control" = inline(NoCache))),
        ),
        Reading,
    )
)]
pub(crate) async fn report(
    context: web::Data<PublicContext>,
    request: HttpRequest,
    body: UnusedBody,
) -> Result<HttpResponse, ApiError> {
    body.ignore(context.settings.body_limit).await?;
    context.projections.read(Kind::Cluster).await?;
    reported(&context, &request, RequestStart::of(&request).as_ref()).ok_or_else(ApiError::not_loaded)?
}

/// Renders the status. Returns `None` if it is not loaded yet.
pub(super) fn reported(
    context: &PublicContext,
    request: &HttpRequest,
    start: Option<&RequestStart>,
) -> Option<Result<HttpResponse, ApiError>> {
    let moment = Moment::of(&*context.clock);
    let status = context.projections.status(&context.settings.build, moment)?;
    let body = status.and_then(|status| status.body(&latency(request, start, moment)));
    Some(body.map(|body| envelope::answer_with(body, NoCache::VALUE)).map_err(ApiError::from))
}

/// Measures this request up to now.
fn latency(request: &HttpRequest, start: Option<&RequestStart>, moment: Moment) -> wire::Latency {
    let taken = start.map_or(Duration::ZERO, |start| start.elapsed_at(moment.monotonic));
    let since_sent = |sent: f64| milliseconds(micros(moment.now.before(taken).micros()) - sent * 1e6);
    wire::Latency {
        response: headers::sent_epoch(request.headers()).map(since_sent),
        process: milliseconds(taken.as_secs_f64() * 1e6),
    }
}

#[expect(clippy::cast_precision_loss, reason = "current timestamps are far below what f64 holds exactly")]
const fn micros(micros: i64) -> f64 {
    micros as f64
}
