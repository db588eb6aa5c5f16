//! Divides the available file descriptors between the listeners.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for everything but connections: storage, logs, requests to the platform.
const RESERVED: usize = 500;
/// Smallest share of a listener, as a fraction of all descriptors. Keeps the management API reachable on a small
/// machine.
const SMALLEST_SHARE: usize = 16;

/// Returns how many connections each listener may have, at most as many as it wants. Each listener also gets
/// descriptors for `ahead` accepted connections. Raises the process limit if it is too low.
pub(super) fn divide<const N: usize>(wanted: [usize; N], ahead: usize) -> [usize; N] {
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
