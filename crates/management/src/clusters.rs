//! `/bot/clusters/{cluster}/heartbeat`: a cluster of the bot reports its state.

use crate::{
    change::{Changes, changed},
    context::ManagementContext,
    request::{JsonBody, MinBodyLimit},
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::port::Mutation;
use companion_http::{ApiError, deadline, openapi::failure, routing};
use companion_records::{ClusterReport, Record as _};
use std::sync::Arc;

pub(crate) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "PUT, OPTIONS")
        .app_data(MinBodyLimit(ClusterReport::MAX_BYTES))
        .route(web::put().to(put))
}

/// Report the state of a cluster of the bot
///
/// A cluster that does not report for `bot.silent_after` no longer counts.
#[utoipa::path(
    put, path = "/bot/clusters/{cluster}/heartbeat", operation_id = "putHeartbeat", tag = "feed",
    params((
        "cluster" = String,
        Path,
        description = "The cluster's id, which the bot chooses.",
        pattern = "^[A-Za-z0-9_-]{1,64}$",
    )),
    request_body(content = ClusterReport, example = ClusterReport::example),
    responses((status = 200, description = "The report is stored.", body = Changes), failure::Feeding)
)]
pub(crate) async fn put(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let heartbeat = body.record::<ClusterReport>(&request)?.received(context.clock.now());
    let batch = vec![Mutation::Report(heartbeat)];
    let feed = Arc::clone(&context.use_cases.feed);
    changed(
        deadline::change(&context.storage_limiter, &request, async move { feed.apply(batch).await }).await?,
    )
}
