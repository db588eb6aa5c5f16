//! The control interface for other processes: [`Control`] as JSON.
//!
//! | method and path below `/control` | body, or response |
//! |---|---|
//! | `GET`, `PUT /users` | the users; one user with `guilds` |
//! | `PUT /clients` | `id`, `secret`, `redirect_uris` |
//! | `POST /codes` | `user`, optional `redirect_uri`, `code_challenge`, `client_id`, `scope`; returns `code` |
//! | `POST /clock` | `forward_ms` |
//! | `POST /tokens/expire` | optional `user` |
//! | `POST /tokens/end` | `user` |
//! | `GET /calls` | the number of calls of each route |
//! | `POST /faults/{route}` | `kind` and its fields, optional `times`, `processed` |
//! | `DELETE /faults`, `DELETE /faults/{route}` | clears the faults of all routes, or of one |
//!
//! Bodies must be `application/json`, which a foreign web page cannot send without a CORS preflight. DNS rebinding
//! avoids the preflight, so requests must also name a loopback host: see [`only_loopback`].

use crate::{Account, Client, CodeTerms, Control, PlannedFault, Route};
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
use std::{net::IpAddr, time::Duration};

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
        .service(web::resource("/users").route(web::get().to(users)).route(web::put().to(put_user)))
        .service(web::resource("/clients").route(web::put().to(put_client)))
        .service(web::resource("/codes").route(web::post().to(mint_code)))
        .service(web::resource("/clock").route(web::post().to(forward)))
        .service(web::resource("/tokens/expire").route(web::post().to(expire)))
        .service(web::resource("/tokens/end").route(web::post().to(end)))
        .service(web::resource("/calls").route(web::get().to(calls)))
        .service(web::resource("/faults").route(web::delete().to(clear_all)))
        .service(web::resource("/faults/{route}").route(web::post().to(plan)).route(web::delete().to(clear)));
}

type ControlData = web::Data<Control>;

async fn users(control: ControlData) -> HttpResponse {
    HttpResponse::Ok().json(control.users())
}

async fn put_user(control: ControlData, account: web::Json<Account>) -> HttpResponse {
    control.put_user(account.into_inner());
    done()
}

async fn put_client(control: ControlData, client: web::Json<Client>) -> HttpResponse {
    control.put_client(client.into_inner());
    done()
}

#[derive(Deserialize)]
struct MintCode {
    user: String,
    #[serde(flatten)]
    terms: CodeTerms,
}

async fn mint_code(control: ControlData, mint: web::Json<MintCode>) -> HttpResponse {
    let MintCode { user, terms } = mint.into_inner();
    with_user(&user, |user| HttpResponse::Ok().json(json!({"code": control.mint_code_with(user, terms)})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardClock {
    forward_ms: u64,
}

async fn forward(control: ControlData, by: web::Json<ForwardClock>) -> HttpResponse {
    control.forward(Duration::from_millis(by.forward_ms));
    done()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserParameter {
    #[serde(default)]
    user: Option<String>,
}

async fn expire(control: ControlData, body: web::Json<UserParameter>) -> HttpResponse {
    match &body.user {
        None => {
            control.expire_access(None);
            done()
        }
        Some(user) => with_user(user, |user| {
            control.expire_access(Some(user));
            done()
        }),
    }
}

async fn end(control: ControlData, body: web::Json<UserParameter>) -> HttpResponse {
    with_user(body.user.as_deref().unwrap_or_default(), |user| {
        control.end_authorisation(user);
        done()
    })
}

async fn calls(control: ControlData) -> HttpResponse {
    HttpResponse::Ok().json(control.all_calls())
}

async fn plan(control: ControlData, route: web::Path<Route>, fault: web::Json<PlannedFault>) -> HttpResponse {
    control.plan(route.into_inner(), fault.into_inner());
    done()
}

async fn clear(control: ControlData, route: web::Path<Route>) -> HttpResponse {
    control.clear(route.into_inner());
    done()
}

async fn clear_all(control: ControlData) -> HttpResponse {
    control.clear_all();
    done()
}

fn with_user(text: &str, then: impl FnOnce(u64) -> HttpResponse) -> HttpResponse {
    match text.parse() {
        Ok(user) => then(user),
        Err(_) => HttpResponse::BadRequest().json(json!({"message": "`user` must be an id, as text"})),
    }
}

fn done() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
