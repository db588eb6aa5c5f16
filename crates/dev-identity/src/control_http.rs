//! The part of [`Control`] that other processes use, as JSON.
//!
//! | method and path below `/control` | body, or response |
//! |---|---|
//! | `POST /codes` | `user`, optional `redirect_uri`, `code_challenge`, `client_id`, `scope`; returns `code` |
//! | `POST /faults/{route}` | `kind` and its fields, optional `times` |
//! | `DELETE /faults` | clears the faults of all routes |
//!
//! Bodies must be `application/json`, which a foreign web page cannot send without a CORS preflight. DNS rebinding
//! avoids the preflight, so requests must also name a loopback host: see [`only_loopback`].

use crate::{CodeTerms, Control, Route, fault::PlannedFault};
use actix_web::{
    Error, HttpRequest, HttpResponse,
    body::BoxBody,
    dev::{ServiceRequest, ServiceResponse},
    http::{header, uri::Authority},
    middleware::Next,
    web,
};
use serde::Deserialize;
use serde_json::json;
use std::net::IpAddr;

/// Rejects requests whose `Host` does not name this machine.
pub(crate) async fn only_loopback(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if names_loopback(request.request()) {
        return next.call(request).await;
    }
    let message = "the control interface answers to localhost, 127.0.0.1 and [::1] only; see the header Host";
    Ok(request.into_response(HttpResponse::Forbidden().json(json!({"message": message}))))
}

fn names_loopback(request: &HttpRequest) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
    let is_loopback = |authority: &Authority| {
        let name = authority.host();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    };
    host.is_some_and(|host| is_loopback(&host)) && request.uri().authority().is_none_or(is_loopback)
}

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/codes").route(web::post().to(mint_code)))
        .service(web::resource("/faults").route(web::delete().to(clear_all)))
        .service(web::resource("/faults/{route}").route(web::post().to(plan)));
}

type ControlData = web::Data<Control>;

#[derive(Deserialize)]
struct MintCode {
    user: String,
    #[serde(flatten)]
    terms: CodeTerms,
}

async fn mint_code(control: ControlData, mint: web::Json<MintCode>) -> HttpResponse {
    let MintCode { user, terms } = mint.into_inner();
    match user.parse() {
        Ok(user) => HttpResponse::Ok().json(json!({"code": control.mint_code_with(user, terms)})),
        Err(_) => HttpResponse::BadRequest().json(json!({"message": "`user` must be an id, as text"})),
    }
}

async fn plan(control: ControlData, route: web::Path<Route>, fault: web::Json<PlannedFault>) -> HttpResponse {
    control.plan(route.into_inner(), fault.into_inner());
    HttpResponse::NoContent().finish()
}

async fn clear_all(control: ControlData) -> HttpResponse {
    control.clear_all();
    HttpResponse::NoContent().finish()
}
