//! The whole program, tested from outside.

#[cfg(test)]
mod documented;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod served;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod simulation;
mod third_party_gatekeeper;
mod third_party_roster;
mod third_party_sessions;

/// Returns a number from the environment, or the default.
#[cfg(test)]
fn amount(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

/// Returns a memory figure of this process, in KiB, by its name in `/proc/self/status`. `None` on systems other than
/// Linux.
#[cfg(test)]
fn memory(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
