//! `/bot/clusters/{cluster}/heartbeat`: a part of the bot says how it is.

use super::{Shared, changed};
use crate::{
    deadline,
    error::ApiError,
    management::request::{JsonBody, Room},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_records::ClusterReport;
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "PUT, OPTIONS").app_data(Room(ClusterReport::LARGEST)).route(web::put().to(put))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let heartbeat = body.record::<ClusterReport>(&request)?.received(shared.clock.now());
    let feed = Arc::clone(&shared.feed);
    changed(deadline::change(async move { feed.report(&heartbeat).await }).await?)
}
