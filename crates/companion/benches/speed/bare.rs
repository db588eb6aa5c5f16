//! The minimal server on the same library: one route, one body.

use crate::{machine, server::Server};
use actix_web::{
    App, HttpResponse, HttpServer,
    dev::Extensions,
    http::header::ContentType,
    web::{self, Bytes},
};
use anyhow::Context as _;
use clap::Args;
use std::{
    any::Any,
    path::{Path, PathBuf},
    process::Command,
};
use tokio::net::TcpStream;

#[derive(Args)]
pub(crate) struct Bare {
    port: u16,
    /// The file with the response body
    body: PathBuf,
}

/// Answers every request with the same bytes, until it is killed.
pub(crate) fn serve(bare: &Bare) -> anyhow::Result<()> {
    let body = Bytes::from(std::fs::read(&bare.body)?);
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
        HttpServer::new(app).on_connect(without_delay).workers(1).bind(("127.0.0.1", bare.port))?.run().await
    };
    actix_web::rt::System::new().block_on(answers).context("the bare server failed")
}

/// Starts a bare server with this body on the server core.
pub(crate) fn start(body: &[u8], folder: &Path) -> anyhow::Result<Server> {
    start_by(machine::on_server_core(&std::env::current_exe()?), body, folder)
}

/// Like [`start`], as the last argument of a command that observes it.
pub(crate) fn start_under(mut watcher: Command, body: &[u8], folder: &Path) -> anyhow::Result<Server> {
    watcher.arg(std::env::current_exe()?);
    start_by(watcher, body, folder)
}

fn start_by(mut command: Command, body: &[u8], folder: &Path) -> anyhow::Result<Server> {
    let (address, file) = (machine::free_address()?, folder.join("body"));
    std::fs::write(&file, body)?;
    command.arg("bare").arg(address.port().to_string()).arg(file);
    Server::start(command, address, (address, "/"), &folder.join("bare-log")).map(|(server, _)| server)
}
