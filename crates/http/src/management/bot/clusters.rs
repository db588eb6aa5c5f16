//! `/bot/clusters/{cluster}/heartbeat`: a part of the bot says how it is.

use super::{Shared, changed};
use crate::{
    error::ApiError,
    input,
    management::request::{JsonBody, read, segment},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

pub(super) fn resource() -> Resource {
    routing::resource("/bot/clusters/{cluster}/heartbeat", "PUT, OPTIONS").route(web::put().to(put))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let cluster = segment(&request, "cluster")?;
    let now = shared.clock.now();
    let heartbeat = read(&body, |fields, notes| input::heartbeat(cluster, now, fields, notes))?;
    changed(shared.feed.report(&heartbeat).await?)
}
