//! The platform's routes, and what all requests of the API have in common.

mod authorize;
mod page;
mod token;
mod user;

use crate::{Route, control_http, fault, state::ServerState};
use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, header},
    middleware::from_fn,
    web,
};
use serde_json::json;

/// Base path of the API, so that a client can be configured with `{base}/api/v10`.
pub(crate) const API: &str = "/api/v10";
/// Base path of pictures.
pub(crate) const CDN: &str = "/cdn";

/// Registers all routes.
pub(crate) fn configure(config: &mut web::ServiceConfig) {
    // The platform serves this page both outside and inside the API.
    config.service(web::resource("/oauth2/authorize").route(web::get().to(authorize::authorize)));
    config.service(web::resource("/callback").route(web::get().to(authorize::call_back)));
    config.service(
        web::scope(API)
            .service(web::resource("/oauth2/authorize").route(web::get().to(authorize::authorize)))
            .service(resource("/oauth2/token", Method::POST).route(web::post().to(token::token)))
            .service(resource("/oauth2/token/revoke", Method::POST).route(web::post().to(token::revoke)))
            .service(resource("/users/@me", Method::GET).route(web::get().to(user::user)))
            .service(resource("/users/@me/guilds", Method::GET).route(web::get().to(user::guilds))),
    );
    config.service(
        web::scope(CDN)
            .service(web::resource("/embed/avatars/{file}").route(web::get().to(page::default_avatar)))
            .service(web::resource("/avatars/{owner}/{file}").route(web::get().to(page::own_picture)))
            .service(web::resource("/icons/{owner}/{file}").route(web::get().to(page::own_picture))),
    );
    config.service(
        web::scope("/control").wrap(from_fn(control_http::only_loopback)).configure(control_http::configure),
    );
    config.default_service(web::to(|| async {
        HttpResponse::NotFound().json(json!({"message": "404: Not Found", "code": 0}))
    }));
}

fn resource(path: &str, method: Method) -> actix_web::Resource {
    web::resource(path).default_service(web::to(move || {
        let method = method.clone();
        async move {
            HttpResponse::MethodNotAllowed()
                .insert_header((header::ALLOW, method.as_str()))
                .json(json!({"message": "405: Method Not Allowed", "code": 0}))
        }
    }))
}

/// Counts the call, applies the latency, waits while the route is held, responds or fails as planned, and counts the
/// response. Rejects clients without a `User-Agent`.
async fn answer(
    route: Route,
    request: &HttpRequest,
    shared: &ServerState,
    serve: impl FnOnce() -> HttpResponse,
) -> HttpResponse {
    shared.count(|calls| *calls.of_routes.entry(route).or_default() += 1);
    if !shared.latency.is_zero() {
        tokio::time::sleep(shared.latency).await;
    }
    shared.until(|calls| calls.held.get(&route).is_none_or(|holds| *holds == 0)).await;
    let response = if header_text(request, &header::USER_AGENT).is_none_or(str::is_empty) {
        HttpResponse::Forbidden().json(json!({"message": "a User-Agent is required", "code": 40333}))
    } else {
        let planned = shared.world().faults.next(route);
        match planned {
            None => serve(),
            Some(fault) => fault::respond_with(&fault, request).await,
        }
    };
    shared.count(|calls| *calls.answers.entry((route, response.status().as_u16())).or_default() += 1);
    response
}

fn header_text<'a>(request: &'a HttpRequest, name: &header::HeaderName) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}
