//! `/bot/clusters/{cluster}`: a cluster of the bot reports its state, and signs off when it stops.

use crate::{
    change::{Changes, change, changed},
    context::ManagementContext,
    request::{EmptyBody, JsonBody, MinBodyLimit, key},
};
use actix_web::{HttpRequest, HttpResponse, web};
use companion_domain::port::Mutation;
use companion_http::{ApiError, audit::Audit, deadline, openapi::failure, routing};
use companion_records::{ClusterReport, Record as _};
use std::sync::Arc;

pub(crate) fn heartbeat_resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "PUT, OPTIONS")
        .app_data(MinBodyLimit(ClusterReport::MAX_BYTES))
        .route(web::put().to(put))
}

pub(crate) fn resource(path: &'static str) -> routing::Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(sign_off))
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

/// Sign a cluster of the bot off
///
/// For a cluster that stops on purpose: it no longer counts, and its silence is no outage.
#[utoipa::path(
    delete, path = "/bot/clusters/{cluster}", operation_id = "signOffCluster", tag = "feed",
    params((
        "cluster" = String,
        Path,
        description = "The cluster's id, which the bot chooses.",
        pattern = "^[A-Za-z0-9_-]{1,64}$",
    )),
    responses(
        (status = 200, description = "The cluster is signed off, or was not known.", body = Changes),
        failure::Feeding,
    )
)]
pub(crate) async fn sign_off(
    context: web::Data<ManagementContext>,
    request: HttpRequest,
    _: EmptyBody,
) -> Result<HttpResponse, ApiError> {
    let (cluster,) = key::<ClusterReport>(&request)?;
    let audit = Audit::of(&request, "sign_off_cluster").subject(&cluster);
    let feed = Arc::clone(&context.use_cases.feed);
    let batch = vec![Mutation::SignOff(cluster)];
    change(&context.storage_limiter, &request, audit, async move { feed.apply(batch).await }).await
}
