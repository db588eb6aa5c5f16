//! Reports of the bot that are not kept under a key: the state of its clusters, and the team.

use crate::request::{Call, Changes, Document};
use actix_web::HttpResponse;
use companion_domain::port::Mutation;
use companion_http::{ApiError, openapi::failure};
use companion_records::{ClusterReport, Record as _, Team};
use std::sync::Arc;

/// Report the state of a cluster of the bot
///
/// A cluster that does not report for `bot.silent_after` no longer counts.
#[utoipa::path(
    put, path = "/bot/clusters/{cluster}/heartbeat", operation_id = "putHeartbeat", tag = "feed",
    request_body(content = ClusterReport, example = ClusterReport::example),
    responses((status = 200, description = "The report is stored.", body = Changes), failure::Feeding)
)]
pub(crate) async fn put_heartbeat(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let heartbeat = call.record::<ClusterReport>()?.received(call.context.clock.now());
    let feed = Arc::clone(&call.context.use_cases.feed);
    let applied = call.write(async move { feed.apply(vec![Mutation::Report(heartbeat)]).await });
    Changes::answer(applied.await?)
}

/// Sign a cluster of the bot off
///
/// For a cluster that stops on purpose: it no longer counts, and its silence is no outage.
#[utoipa::path(
    delete, path = "/bot/clusters/{cluster}", operation_id = "signOffCluster", tag = "feed",
    responses(
        (status = 200, description = "The cluster is signed off, or was not known.", body = Changes),
        failure::Feeding,
    )
)]
pub(crate) async fn sign_off(call: Call) -> Result<HttpResponse, ApiError> {
    let (cluster,) = call.key::<ClusterReport>()?;
    call.feed(call.audit("sign_off_cluster").subject(&cluster), Mutation::SignOff(cluster)).await
}

/// Replace the whole team
#[utoipa::path(
    put, path = "/bot/team", operation_id = "putTeam", tag = "feed",
    request_body(content = Team, example = Team::example),
    responses((status = 200, description = "The team is replaced.", body = Changes), failure::Feeding)
)]
pub(crate) async fn put_team(call: Call<Document>) -> Result<HttpResponse, ApiError> {
    let roster = Team::read_body(&call.body).map_err(ApiError::InputInvalid)?;
    call.feed(call.audit("put_team"), Mutation::ReplaceTeam(roster)).await
}
