//! A running server on its own threads.

use crate::{Control, Options, fault::RawConnection, routes};
use actix_web::{App, HttpServer, dev::ServerHandle};
use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, mpsc},
    thread,
};
use tokio::sync::oneshot;

const WORKERS: usize = 2;

/// The reason why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Any client that reaches the server can sign in as any user, so it must be on loopback.
    #[error("the development identity provider listens on loopback only, not on {0}")]
    NotLoopback(SocketAddr),
    /// The listener cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A running server. Stops on drop.
pub struct Running {
    address: SocketAddr,
    control: Control,
    serving: Option<Serving>,
}

struct Serving {
    handle: ServerHandle,
    ended: oneshot::Receiver<()>,
}

/// Starts development identity providers.
#[derive(Debug)]
pub struct DevIdentity;

impl DevIdentity {
    /// Serves on this listener, on its own threads, until it is stopped or dropped.
    ///
    /// # Errors
    /// If the listener is not on loopback, or cannot be served.
    pub fn start(listener: TcpListener, options: Options) -> Result<Running, StartError> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            return Err(StartError::NotLoopback(address));
        }
        let control = Control::new(options);
        let serving = serve(listener, &control)?;
        Ok(Running { address, control, serving: Some(serving) })
    }
}

impl Running {
    /// Returns the listen address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL of the platform's API.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("{}{}", self.base_url(), routes::API)
    }

    /// Returns the base URL of the platform's picture server.
    #[must_use]
    pub fn cdn_url(&self) -> String {
        format!("{}{}", self.base_url(), routes::CDN)
    }

    /// Returns the handle that controls it: users, tokens, faults, its clock.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Closes the listener and all connections, so that new ones are refused. Its state stays.
    pub async fn refuse_connections(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.handle.stop(false).await;
            let _ = serving.ended.await;
        }
    }

    /// Listens again at the same address.
    ///
    /// # Errors
    /// If the address is in use.
    pub fn accept_again(&mut self) -> io::Result<()> {
        if self.serving.is_none() {
            let listener = TcpListener::bind(self.address)?;
            self.serving = Some(serve(listener, &self.control)?);
        }
        Ok(())
    }

    /// Stops the server.
    pub async fn stop(mut self) {
        self.refuse_connections().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            // The call sends the stop command; its completion need not be awaited.
            drop(serving.handle.stop(false));
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("address", &self.address).finish_non_exhaustive()
    }
}

fn serve(listener: TcpListener, control: &Control) -> io::Result<Serving> {
    let (started, start) = mpsc::channel();
    let (end, ended) = oneshot::channel();
    let control = control.clone();
    thread::Builder::new().name("dev-identity".to_owned()).spawn(move || {
        actix_web::rt::System::new().block_on(async move {
            match server(listener, control) {
                Ok(server) => {
                    let _ = started.send(Ok(server.handle()));
                    let _ = server.await;
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        });
        let _ = end.send(());
    })?;
    let handle = start.recv().map_err(io::Error::other)??;
    Ok(Serving { handle, ended })
}

fn server(listener: TcpListener, control: Control) -> io::Result<actix_web::dev::Server> {
    let shared = Arc::clone(&control.0);
    let server = HttpServer::new(move || App::new().configure(|config| control.configure(config)));
    let server = server
        .workers(WORKERS)
        .disable_signals()
        .shutdown_timeout(0)
        .on_connect(move |connection, data| {
            shared.world().calls.connections += 1;
            if let Some(raw_connection) = RawConnection::of(connection) {
                data.insert(raw_connection);
            }
        })
        .listen(listener)?;
    Ok(server.run())
}
