//! The whole of Companion, from outside.

mod third_party_roster;
