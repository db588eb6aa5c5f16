//! When sessions are over.

use crate::configuration::Configuration;
use companion_domain::session::SessionLimits;

pub(super) fn limits(configuration: &Configuration) -> SessionLimits {
    let sessions = &configuration.sessions;
    SessionLimits { lifetime: sessions.lifetime, idle: sessions.idle, per_user: sessions.per_user }
}
