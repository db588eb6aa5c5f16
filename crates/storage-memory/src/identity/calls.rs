//! Calls to the platform: counted, and held or failed on demand.

use super::MemoryIdentity;
use companion_domain::port::{IdentityError, IdentityErrorKind};
use std::collections::HashMap;
use tokio::sync::watch;

/// The kinds of calls to the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdentityCall {
    /// Exchanges a code for tokens.
    Exchange,
    /// Returns the user of a token.
    User,
    /// Returns the guilds of a token's user.
    Guilds,
    /// Exchanges a refresh token for new tokens.
    Refresh,
    /// Revokes an authorisation.
    Revoke,
}

impl IdentityCall {
    /// All kinds of calls.
    pub const ALL: [Self; 5] = [Self::Exchange, Self::User, Self::Guilds, Self::Refresh, Self::Revoke];
}

impl MemoryIdentity {
    /// Makes every later call of this kind fail with this error, or succeed again with `None`. An exchange that fails
    /// after it was sent spends its code.
    pub fn fail_with(&self, call: IdentityCall, failure: Option<IdentityErrorKind>) {
        self.calls.change(call, |state| state.failure = failure);
    }

    /// Blocks calls of this kind until the returned guard is dropped.
    #[must_use]
    pub fn hold(&self, call: IdentityCall) -> Held {
        self.calls.change(call, |state| state.holds += 1);
        Held { calls: Calls(self.calls.0.clone()), call }
    }

    /// Returns the number of calls of this kind, failed ones included.
    #[must_use]
    pub fn calls(&self, call: IdentityCall) -> u64 {
        self.calls.state(call).calls
    }

    /// Waits until this many calls of this kind were made.
    pub async fn called(&self, call: IdentityCall, times: u64) {
        self.calls.until(call, |state| state.calls >= times).await;
    }
}

/// Counts calls, holds them and makes them fail.
#[derive(Debug, Default)]
pub(super) struct Calls(watch::Sender<HashMap<IdentityCall, CallState>>);

#[derive(Debug, Default, Clone, Copy)]
struct CallState {
    calls: u64,
    holds: u64,
    failure: Option<IdentityErrorKind>,
}

impl Calls {
    /// Counts the call, and waits while calls of this kind are held. Returns the configured failure, if any.
    pub(super) async fn begin(&self, call: IdentityCall) -> Result<(), IdentityError> {
        self.change(call, |state| state.calls += 1);
        self.until(call, |state| state.holds == 0).await;
        match self.state(call).failure {
            Some(kind) => Err(IdentityError::new(kind, "told to fail")),
            None => Ok(()),
        }
    }

    fn state(&self, call: IdentityCall) -> CallState {
        self.0.borrow().get(&call).copied().unwrap_or_default()
    }

    fn change(&self, call: IdentityCall, change: impl FnOnce(&mut CallState)) {
        self.0.send_modify(|states| change(states.entry(call).or_default()));
    }

    async fn until(&self, call: IdentityCall, reached: impl Fn(CallState) -> bool) {
        let has_reached = |states: &HashMap<_, _>| reached(states.get(&call).copied().unwrap_or_default());
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(has_reached).await;
    }
}

/// Blocks calls of one kind until it is dropped.
#[derive(Debug)]
pub struct Held {
    calls: Calls,
    call: IdentityCall,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.calls.change(self.call, |state| state.holds -= 1);
    }
}
