//! A platform that answers at once: each code belongs to another user.

use crate::{
    arguments::Job,
    machine,
    server::Server,
    world::{GUILDS, USERS},
};
use actix_web::{
    App, HttpRequest, HttpServer,
    http::header::AUTHORIZATION,
    web::{self, Json},
};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Platform {
    address: SocketAddr,
}

impl Platform {
    /// Serves the three calls of a sign-in, until it is killed.
    pub(crate) fn serve(&self) -> anyhow::Result<()> {
        let app = || {
            App::new()
                .route("/oauth2/token", web::post().to(token))
                .route("/users/@me", web::get().to(user))
                .route("/users/@me/guilds", web::get().to(guilds))
                .route("/", web::get().to(|| async { "ready" }))
        };
        let server = async { HttpServer::new(app).workers(1).bind(self.address)?.run().await };
        actix_web::rt::System::new().block_on(server).context("the platform failed")
    }
}

/// Starts it on the load core.
pub(crate) fn start(folder: &Path) -> anyhow::Result<Server> {
    let address = machine::free_address()?;
    let command = Job::Platform(Platform { address }).under(machine::load_core())?;
    Server::start(command, address, (address, "/"), &folder.join("platform-log"))
}

async fn token(form: web::Form<Vec<(String, String)>>) -> Json<Value> {
    let code = form.iter().find_map(|(name, value)| (name == "code").then_some(value.as_str()));
    Json(json!({
        "access_token": code, "refresh_token": code, "token_type": "Bearer", "expires_in": 604_800,
        "scope": "identify guilds",
    }))
}

async fn user(request: HttpRequest) -> Json<Value> {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let number = token.and_then(|token| token.rsplit_once('-')?.1.parse::<u64>().ok()).unwrap_or_default();
    Json(json!({"id": (USERS + number).to_string(), "username": format!("person_{number}")}))
}

async fn guilds() -> Json<Vec<Value>> {
    let guild = |number: u64| json!({"id": (GUILDS + number).to_string(), "owner": false, "permissions": "8", "name": "Harbour Town"});
    Json((0..10).map(guild).collect())
}
