//! How many files and connections the system lets us have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many connections as the system lets us have, at most `wanted`, when `besides` are needed for other things. Asks the system
/// for more where it gives few by default.
pub(super) fn allow(wanted: usize, besides: usize) -> usize {
    let needed = (wanted + besides) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current else { return wanted };
    let raised = maximum.map_or(needed, |maximum| maximum.min(needed)).max(current);
    let raise =
        raised > current && setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let allowed = connections(wanted, besides, if raise { raised } else { current });
    if allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "limits.connections is more than the limit of open files leaves room for; raise that limit (LimitNOFILE in a \
             systemd unit, ulimit -n in a shell), or let limits.connections be less"
        );
    }
    allowed
}

/// How many connections fit into so many files. A few always do, so that nobody is locked out for good.
fn connections(wanted: usize, besides: usize, files: u64) -> usize {
    let room = usize::try_from(files).unwrap_or(usize::MAX).saturating_sub(besides);
    wanted.min(room.max(usize::try_from(files / 4).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_for_other_things_is_left_to_them() {
        assert_eq!(connections(20_000, 1500, 1 << 20), 20_000);
        assert_eq!(connections(20_000, 1500, 10_000), 8500);
        assert_eq!(connections(20_000, 1500, 1024), 256);
        assert_eq!(connections(100, 1500, 1024), 100);
    }

    #[test]
    fn the_system_is_asked_for_more_where_it_gives_more() {
        let before = getrlimit(Resource::Nofile);
        allow(20_000, 1500);
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.maximum, before.maximum);
        let enough = before.maximum.map_or(21_500, |maximum| maximum.min(21_500));
        assert!(after.current.is_none_or(|current| current >= enough), "{after:?}");
    }
}
