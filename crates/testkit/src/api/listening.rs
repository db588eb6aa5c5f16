//! Serving on loopback.

use super::service::Service;
use companion_http::{Listening, ServerLimits, serve_public};
use companion_management::serve_management;
use std::net::TcpListener;

/// Serves the public API.
pub fn listen(service: &Service) -> Listening {
    listen_with(service, limits())
}

/// Serves the public API within these limits.
pub fn listen_with(service: &Service, limits: ServerLimits) -> Listening {
    serve_public(service.api.clone(), listener(), limits).unwrap()
}

/// Serves the management API.
pub fn listen_management(service: &Service) -> Listening {
    listen_management_with(service, limits())
}

/// Serves the management API within these limits.
pub fn listen_management_with(service: &Service, limits: ServerLimits) -> Listening {
    serve_management(service.management.clone(), listener(), limits).unwrap()
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// One thread, and the usual for the rest.
#[must_use]
pub fn limits() -> ServerLimits {
    ServerLimits { workers: 1, ..ServerLimits::default() }
}
