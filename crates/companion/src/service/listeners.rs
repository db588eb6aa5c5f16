//! The bound listeners of a service, and their limits.

use crate::{
    configuration::{Configuration, ListenAddress, variable},
    error::{ProgramError, failed, refused},
    supervisor::PassedListeners,
};
use companion_http::{MAX_EXCESS_CONNECTIONS, ServerLimits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

impl Listeners {
    /// Binds the configured addresses.
    pub fn bind(configuration: &Configuration) -> Result<Self, ProgramError> {
        Self::bind_others(configuration, PassedListeners::default(), None)
    }

    /// Uses the listeners that a supervisor passed, and binds the configured addresses of the others. Errors suggest
    /// `fix`, or another port in the configuration.
    pub fn bind_others(
        configuration: &Configuration,
        passed: PassedListeners,
        fix: Option<&str>,
    ) -> Result<Self, ProgramError> {
        let PassedListeners { public, management, dashboard } = passed;
        let shared = [public.is_some(), management.is_some(), dashboard.is_some()];
        let or_bind = |passed: Option<TcpListener>, key, address: &ListenAddress| match passed {
            Some(listener) => Ok(listener),
            None => address.bind().map_err(|error| {
                let fix = fix.map_or_else(|| another_port(key, address, &error), str::to_owned);
                failed(format_args!("{key}: cannot listen on {address}: {error}\n    fix: {fix}"))
            }),
        };
        let listen = configuration.dashboard.listen.as_ref();
        if dashboard.is_some() && listen.is_none() {
            return Err(refused(UNUSED_DASHBOARD));
        }
        Ok(Self {
            public: or_bind(public, "http.listen", &configuration.http.listen)?,
            management: or_bind(management, "management.listen", &configuration.management.listen)?,
            dashboard: listen.map(|listen| or_bind(dashboard, "dashboard.listen", listen)).transpose()?,
            shared,
            limits: ServerLimits::default(),
        })
    }
}

const UNUSED_DASHBOARD: &str = "LISTEN_FDS: a listener for the dashboard was passed, but the dashboard is off\n    fix: \
     set dashboard.listen and dashboard.url, or remove the socket from the unit";

/// Returns how to correct an address that cannot be bound.
fn another_port(key: &str, address: &ListenAddress, error: &io::Error) -> String {
    let another = format!("set {}={}:PORT to another port (0 takes a free one)", variable(key), address.host);
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("stop the program that uses it, or {another}"),
        io::ErrorKind::PermissionDenied => {
            format!("{another}; one below 1024 needs rights that systemd has: let a socket unit listen there")
        }
        _ => another,
    }
}

/// Worker threads of the management API, which has few clients.
const MANAGEMENT_WORKERS: usize = 1;
/// Connections reserved for the management API. Idle ones are evicted, so the operator can always connect.
const MANAGEMENT_CONNECTIONS: usize = 2000;
/// Worker threads of the dashboard. Pages are requested one at a time, and rendering one takes less than a millisecond.
const DASHBOARD_WORKERS: usize = 2;
/// Connections reserved for the dashboard.
const DASHBOARD_CONNECTIONS: usize = 2000;

/// Returns the limits of the public, the management and the dashboard listener. The public per-address limit shrinks in
/// proportion to the connections that the descriptors allow. On the other two, one address may have half of the
/// connections.
pub(super) fn server_limits(configuration: &Configuration, usual: ServerLimits) -> [ServerLimits; 3] {
    let Configuration { http, limits, .. } = configuration;
    let workers = http.workers.map_or(usual.workers, |workers| workers.get() as usize);
    let wanted = limits.connections.get() as usize;
    let per_address = limits.connections_per_address.get() as usize;
    let dashboard = configuration.dashboard.listen.as_ref().map_or(0, |_| DASHBOARD_CONNECTIONS);
    let most_workers = workers.max(DASHBOARD_WORKERS);
    let ahead = most_workers * (MAX_EXCESS_CONNECTIONS + 1);
    let [public, management, dashboard] = divide([wanted, MANAGEMENT_CONNECTIONS, dashboard], ahead);
    let limits = |workers, connections, connections_per_address: usize| ServerLimits {
        workers,
        connections,
        connections_per_address: connections_per_address.max(1),
        ..usual
    };
    [
        limits(workers, public, per_address.saturating_mul(public) / wanted),
        limits(MANAGEMENT_WORKERS, management, management / 2),
        limits(DASHBOARD_WORKERS, dashboard, dashboard / 2),
    ]
}

/// Descriptors reserved for everything but connections: storage, logs, requests to the platform.
const RESERVED: usize = 500;
/// Smallest share of a listener, as a fraction of all descriptors. Keeps the management API reachable on a small
/// machine.
const SMALLEST_SHARE: usize = 16;

/// Returns how many connections each listener may have, at most as many as it wants. Each listener also gets
/// descriptors for `ahead` accepted connections. Raises the process limit if it is too low.
fn divide<const N: usize>(wanted: [usize; N], ahead: usize) -> [usize; N] {
    let needed = wanted.iter().sum::<usize>() + N * ahead + RESERVED;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current else { return wanted };
    let raised = maximum.map_or(needed as u64, |maximum| maximum.min(needed as u64)).max(current);
    let is_raised =
        raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let allowed = usize::try_from(if is_raised { raised } else { current }).unwrap_or(usize::MAX);
    let shares = shares(wanted, ahead, allowed);
    if shares != wanted {
        tracing::warn!(
            descriptors = allowed,
            needed,
            connections = ?shares,
            "limits.connections is more than the limit of open files leaves room for; raise that limit (LimitNOFILE in a \
             systemd unit, ulimit -n in a shell), or let limits.connections be less"
        );
    }
    shares
}

/// Divides `allowed` descriptors in proportion to what each listener wants.
fn shares<const N: usize>(wanted: [usize; N], ahead: usize, allowed: usize) -> [usize; N] {
    let all: usize = wanted.iter().sum();
    let room = allowed.saturating_sub(RESERVED.min(allowed / 4));
    if room >= all + N * ahead {
        return wanted;
    }
    let smallest = allowed / SMALLEST_SHARE;
    let divisible = room.saturating_sub(N * (ahead + smallest));
    wanted.map(|wanted| wanted.min(smallest + divisible * wanted / all.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: [usize; 3] = [20_000, 2000, 2000];

    #[test]
    fn every_listener_gets_what_it_wants_if_descriptors_suffice() {
        assert_eq!(shares(WANTED, 64, 1 << 20), WANTED);
        assert_eq!(shares([100, 20, 0], 64, 1024), [100, 20, 0]);
    }

    #[test]
    fn shares_and_accepted_connections_fit_the_descriptors() {
        for allowed in [256, 1024, 4096, 10_000, 20_000] {
            let shares = shares(WANTED, 32, allowed);
            let taken = shares.iter().sum::<usize>() + 3 * 32 + RESERVED.min(allowed / 4);
            assert!(taken <= allowed, "{shares:?} of {allowed}");
            assert!(shares.iter().all(|share| *share >= allowed / SMALLEST_SHARE), "{shares:?} of {allowed}");
        }
    }

    #[test]
    fn raises_the_descriptor_limit_if_allowed() {
        let before = getrlimit(Resource::Nofile);
        divide(WANTED, 64);
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        let enough = before.maximum.map_or(24_000, |maximum| maximum.min(24_000));
        assert!(after.current.is_none_or(|current| current >= enough), "{after:?}");
    }
}
