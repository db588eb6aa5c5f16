//! The whole of Companion, from outside.

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

/// A number from the environment, for those who want to see more than the usual run shows.
#[cfg(test)]
fn amount(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

/// How much memory this process holds by a name that the kernel counts it under, in KiB. Other systems than Linux do not
/// tell.
#[cfg(test)]
fn memory(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
