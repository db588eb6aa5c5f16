//! The whole of Companion, from outside.

#[cfg(test)]
mod sign_in;
mod third_party_roster;
