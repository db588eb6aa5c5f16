//! The whole program, tested from outside.

#[cfg(test)]
mod canaries;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod junk_codes;
#[cfg(test)]
mod served;
#[cfg(test)]
mod simulation;
mod third_party_gatekeeper;
mod third_party_roster;
