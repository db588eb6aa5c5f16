//! The whole of Companion, from outside.

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
