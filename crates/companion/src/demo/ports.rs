//! Where the parts of the demo listen: ports on loopback, whatever is configured.

use crate::configuration::Configuration;

/// The dashboard's place behind the public API's, where one port places them all.
const DASHBOARD: u16 = 2;
/// Where the dashboard listens otherwise.
const USUAL_DASHBOARD: u16 = 8082;
/// The identity provider's place behind the public API's, where one port places them all.
const PROVIDER: u16 = 3;
/// Where the provider listens otherwise.
const USUAL_PROVIDER: u16 = 8083;

/// The ports. 0 takes a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoPorts {
    /// Of the public API.
    pub public: u16,
    /// Of the management API.
    pub management: u16,
    /// Of the dashboard.
    pub dashboard: u16,
    /// Of the identity provider.
    pub provider: u16,
}

impl DemoPorts {
    /// The last port from which there is room for all of them.
    pub const LAST: u16 = u16::MAX - PROVIDER;

    /// The ports that are configured. A public API that takes a free port takes the dashboard and the provider along.
    #[must_use]
    pub const fn configured(given: &Configuration) -> Self {
        let public = given.http.listen.port;
        let (dashboard, provider) = if public == 0 { (0, 0) } else { (USUAL_DASHBOARD, USUAL_PROVIDER) };
        Self { public, management: given.management.listen.port, dashboard, provider }
    }

    /// One after the other from this port on. From 0, all of them are free ones.
    #[must_use]
    pub const fn from(first: u16) -> Self {
        if first == 0 {
            return Self { public: 0, management: 0, dashboard: 0, provider: 0 };
        }
        Self {
            public: first,
            management: first.saturating_add(1),
            dashboard: first.saturating_add(DASHBOARD),
            provider: first.saturating_add(PROVIDER),
        }
    }
}
