//! The listeners.

use crate::configuration::{Configuration, KEYS, ListenAddress};
use std::{io, net::TcpListener};

/// The listeners, bound.
#[derive(Debug)]
pub struct Listeners {
    /// For the public API.
    pub public: TcpListener,
    /// For the management API.
    pub management: TcpListener,
    /// For the dashboard, where it is on.
    pub dashboard: Option<TcpListener>,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("{key}: cannot listen on {address}: {error}\n    fix: {fix}")]
pub struct CannotListen {
    key: &'static str,
    address: ListenAddress,
    error: io::Error,
    fix: String,
}

impl CannotListen {
    /// The same, mended in another way.
    #[must_use]
    pub fn with_fix(self, fix: String) -> Self {
        Self { fix, ..self }
    }
}

impl Listeners {
    /// Binds the configured addresses.
    pub fn bind(configuration: &Configuration) -> Result<Self, CannotListen> {
        Ok(Self {
            public: bind("http.listen", &configuration.http.listen)?,
            management: bind("management.listen", &configuration.management.listen)?,
            dashboard: match &configuration.dashboard.listen {
                Some(listen) => Some(bind("dashboard.listen", listen)?),
                None => None,
            },
        })
    }
}

fn bind(key: &'static str, address: &ListenAddress) -> Result<TcpListener, CannotListen> {
    address.bind().map_err(|error| {
        let variable =
            KEYS.iter().find(|known| known.path == key).map(|known| known.variable()).unwrap_or_default();
        let another = format!("set {variable}={}:PORT to another port (0 takes a free one)", address.host);
        let fix = match error.kind() {
            io::ErrorKind::AddrInUse => format!("stop the program that uses it, or {another}"),
            _ => another,
        };
        CannotListen { key, address: address.clone(), error, fix }
    })
}
