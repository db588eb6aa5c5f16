//! For whom a call is made.

use companion_domain::{model::UserId, port::ClientMark};

/// For whom a call is made, as far as we know: who is to pay where the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// For us: what the platform says, it says to everybody here.
    Ourselves,
    /// For someone who is signing in. Who it is, the call is about to tell.
    Client(ClientMark),
    /// For someone who is signing in and whom another call, under way at the same time, is about to tell.
    Arriving(ClientMark),
    /// For a user.
    User(UserId),
}
