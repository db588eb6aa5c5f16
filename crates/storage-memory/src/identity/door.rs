//! The way in to the platform: counted, and shut on demand.

use companion_domain::port::{IdentityError, IdentityErrorKind};
use std::collections::HashMap;
use tokio::sync::watch;

/// The sorts of calls that the platform gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdentityCall {
    /// A code for tokens.
    Exchange,
    /// The user behind a token.
    User,
    /// The guilds of the user behind a token.
    Guilds,
    /// A refresh token for new tokens.
    Refresh,
    /// The end of an authorisation.
    Revoke,
}

impl IdentityCall {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Exchange, Self::User, Self::Guilds, Self::Refresh, Self::Revoke];
}

/// Counts callers, keeps them waiting and turns them away.
pub(super) struct Door(watch::Sender<HashMap<IdentityCall, Way>>);

#[derive(Default, Clone, Copy)]
struct Way {
    calls: u64,
    holds: u64,
    failure: Option<IdentityErrorKind>,
}

impl Default for Door {
    fn default() -> Self {
        Self(watch::Sender::new(HashMap::new()))
    }
}

impl Door {
    /// Counts the caller, and returns once nobody holds the way.
    pub(super) async fn enter(&self, call: IdentityCall) -> Result<(), IdentityError> {
        self.change(call, |way| way.calls += 1);
        self.until(call, |way| way.holds == 0).await;
        match self.way(call).failure {
            Some(kind) => Err(IdentityError::new(kind, "told to fail")),
            None => Ok(()),
        }
    }

    pub(super) fn fail_with(&self, call: IdentityCall, failure: Option<IdentityErrorKind>) {
        self.change(call, |way| way.failure = failure);
    }

    pub(super) fn hold(&self, call: IdentityCall) -> Held {
        self.change(call, |way| way.holds += 1);
        Held { door: Self(self.0.clone()), call }
    }

    pub(super) fn calls(&self, call: IdentityCall) -> u64 {
        self.way(call).calls
    }

    pub(super) async fn called(&self, call: IdentityCall, times: u64) {
        self.until(call, |way| way.calls >= times).await;
    }

    fn way(&self, call: IdentityCall) -> Way {
        self.0.borrow().get(&call).copied().unwrap_or_default()
    }

    fn change(&self, call: IdentityCall, change: impl FnOnce(&mut Way)) {
        self.0.send_modify(|ways| change(ways.entry(call).or_default()));
    }

    async fn until(&self, call: IdentityCall, reached: impl Fn(Way) -> bool) {
        let state = |ways: &HashMap<_, _>| reached(ways.get(&call).copied().unwrap_or_default());
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(state).await;
    }
}

/// Keeps callers waiting until it is dropped.
pub struct Held {
    door: Door,
    call: IdentityCall,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.door.change(self.call, |way| way.holds -= 1);
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({:?})", self.call)
    }
}
