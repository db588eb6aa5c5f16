//! `/bot/clusters/{cluster}/heartbeat`: a part of the bot says how it is.

use super::{Shared, changed};
use crate::{
    deadline,
    error::ApiError,
    input,
    management::request::{Input, JsonBody, Room},
    routing,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use std::sync::Arc;

pub(in crate::management) fn resource(path: &'static str) -> Resource {
    routing::resource(path, "PUT, OPTIONS").app_data(Room(input::LARGEST_HEARTBEAT)).route(web::put().to(put))
}

async fn put(
    shared: web::Data<Shared>,
    request: HttpRequest,
    body: JsonBody,
) -> Result<HttpResponse, ApiError> {
    let mut sent = Input::of(&request, &body);
    let cluster = sent.key("cluster");
    let now = shared.clock.now();
    let heartbeat = sent.object(|fields, notes| input::heartbeat(cluster, now, fields, notes))?;
    let feed = Arc::clone(&shared.feed);
    changed(deadline::change(async move { feed.report(&heartbeat).await }).await?)
}
