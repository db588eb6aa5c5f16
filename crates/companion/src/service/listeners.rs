//! The bound listeners of a service.

use crate::{
    configuration::{Configuration, Key, ListenAddress},
    supervisor::PassedListeners,
};
use companion_http::ServerLimits;
use std::{io, net::TcpListener};

/// The bound listeners.
#[derive(Debug)]
pub struct Listeners {
    /// For the public API.
    pub public: TcpListener,
    /// For the management API.
    pub management: TcpListener,
    /// For the dashboard, if it is on.
    pub dashboard: Option<TcpListener>,
    /// Whether a supervisor holds them too, in the order of the fields above.
    pub shared: [bool; 3],
    /// Timeouts of their connections. Numbers of connections and workers come from the configuration.
    pub limits: ServerLimits,
}

/// An address that cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("{key}: cannot listen on {address}: {error}\n    fix: {fix}")]
pub struct ListenError {
    key: &'static str,
    address: ListenAddress,
    error: io::Error,
    fix: String,
}

impl ListenError {
    /// Replaces the suggested fix.
    #[must_use]
    pub fn with_fix(self, fix: String) -> Self {
        Self { fix, ..self }
    }
}

impl Listeners {
    /// Binds the configured addresses.
    pub fn bind(configuration: &Configuration) -> Result<Self, ListenError> {
        Self::bind_others(configuration, PassedListeners::default())
    }

    /// Uses the listeners that a supervisor passed, and binds the configured addresses of the others.
    pub fn bind_others(configuration: &Configuration, passed: PassedListeners) -> Result<Self, ListenError> {
        let PassedListeners { public, management, dashboard } = passed;
        let shared = [public.is_some(), management.is_some(), dashboard.is_some()];
        let or_bind = |passed: Option<TcpListener>, key, address| match passed {
            Some(listener) => Ok(listener),
            None => bind(key, address),
        };
        Ok(Self {
            public: or_bind(public, "http.listen", &configuration.http.listen)?,
            management: or_bind(management, "management.listen", &configuration.management.listen)?,
            dashboard: match &configuration.dashboard.listen {
                Some(listen) => Some(or_bind(dashboard, "dashboard.listen", listen)?),
                None => None,
            },
            shared,
            limits: ServerLimits::default(),
        })
    }
}

fn bind(key: &'static str, address: &ListenAddress) -> Result<TcpListener, ListenError> {
    address.bind().map_err(|error| {
        let variable = Key::named(key).map(Key::variable).unwrap_or_default();
        let another = format!("set {variable}={}:PORT to another port (0 takes a free one)", address.host);
        let fix = match error.kind() {
            io::ErrorKind::AddrInUse => format!("stop the program that uses it, or {another}"),
            io::ErrorKind::PermissionDenied => format!(
                "{another}; one below 1024 needs rights that systemd has: let a socket unit listen there"
            ),
            _ => another,
        };
        ListenError { key, address: address.clone(), error, fix }
    })
}
