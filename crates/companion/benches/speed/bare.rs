//! The minimal server on the same library: one route, one body.

use crate::{arguments::Job, machine, server::Server};
use actix_web::{
    App, HttpResponse, HttpServer,
    dev::Extensions,
    http::header::ContentType,
    web::{self, Bytes},
};
use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use std::{
    any::Any,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};
use tokio::net::TcpStream;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Bare {
    address: SocketAddr,
    /// The file with the response body.
    body: PathBuf,
}

impl Bare {
    /// Answers every request with the same bytes, until it is killed.
    pub(crate) fn serve(&self) -> anyhow::Result<()> {
        let body = Bytes::from(std::fs::read(&self.body)?);
        let answers = async {
            let app = move || {
                let body = body.clone();
                let answer = move || {
                    let body = body.clone();
                    async move { HttpResponse::Ok().content_type(ContentType::json()).body(body) }
                };
                App::new().route("/", web::get().to(answer))
            };
            // As the service does; otherwise pipelined responses would wait for each other.
            let without_delay = |connection: &dyn Any, _: &mut Extensions| {
                if let Some(stream) = connection.downcast_ref::<TcpStream>() {
                    let _ = stream.set_nodelay(true);
                }
            };
            HttpServer::new(app).on_connect(without_delay).workers(1).bind(self.address)?.run().await
        };
        actix_web::rt::System::new().block_on(answers).context("the bare server failed")
    }
}

/// Starts a bare server with this body, under a command that runs or observes it.
pub(crate) fn start(command: Command, body: &[u8], folder: &Path) -> anyhow::Result<Server> {
    let (address, file) = (machine::free_address()?, folder.join("body"));
    std::fs::write(&file, body)?;
    let command = Job::Bare(Bare { address, body: file }).under(command)?;
    Server::start(command, address, (address, "/"), &folder.join("bare-log"))
}
