//! The platform's routes.

mod api;
mod page;

use crate::control::{self, Control};
use actix_web::{
    HttpResponse,
    http::{Method, header},
    middleware::from_fn,
    web,
};
use serde_json::json;
use std::sync::Arc;

/// Base path of the API, so that a client can be configured with `{base}/api/v10`.
pub(crate) const API: &str = "/api/v10";
/// Base path of pictures.
pub(crate) const CDN: &str = "/cdn";

impl Control {
    /// Registers the routes of the server.
    pub fn configure(&self, config: &mut web::ServiceConfig) {
        config.app_data(web::Data::from(Arc::clone(&self.0))).app_data(web::Data::new(self.clone()));
        configure(config);
    }
}

fn configure(config: &mut web::ServiceConfig) {
    // The platform serves this page both outside and inside the API.
    config.service(web::resource("/oauth2/authorize").route(web::get().to(page::authorize)));
    config.service(web::resource("/callback").route(web::get().to(page::call_back)));
    config.service(
        web::scope(API)
            .service(web::resource("/oauth2/authorize").route(web::get().to(page::authorize)))
            .service(resource("/oauth2/token", Method::POST).route(web::post().to(api::token)))
            .service(resource("/oauth2/token/revoke", Method::POST).route(web::post().to(api::revoke)))
            .service(resource("/users/@me", Method::GET).route(web::get().to(api::user)))
            .service(resource("/users/@me/guilds", Method::GET).route(web::get().to(api::guilds))),
    );
    config.service(
        web::scope(CDN)
            .service(web::resource("/embed/avatars/{file}").route(web::get().to(page::default_avatar)))
            .service(web::resource("/avatars/{owner}/{file}").route(web::get().to(page::own_picture)))
            .service(web::resource("/icons/{owner}/{file}").route(web::get().to(page::own_picture))),
    );
    config
        .service(web::scope("/control").wrap(from_fn(control::only_loopback)).configure(control::configure));
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
