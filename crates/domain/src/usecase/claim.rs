//! A lease on a grant, for one node at a time.

use super::refresh::Recent;
use crate::{
    model::{Span, Timestamp, UserId},
    port::{Claimed, Clock, GrantStore, GrantVersion, StoreError},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long a claim blocks other nodes: longer than all calls of an attempt together, so that no two nodes use one
/// refresh token.
pub(super) const CLAIM_LEASE: Span = Span::from_seconds(30);
/// Number of claims of other nodes that are tracked, at least.
const TRACKED_CLAIMS: usize = 10_000;

/// Claims grants, and distinguishes claims of dead nodes from those of live ones.
///
/// Clocks of nodes differ by minutes and claims last half a minute, so the date on a claim says little. A node that
/// finds one measures in monotonic time how long it exists; a live holder has finished long before that. Only a date
/// that no live node can have written, since it differs by more than clocks may, is trusted at once.
pub(super) struct Claims {
    grants: Arc<dyn GrantStore>,
    clock: Arc<dyn Clock>,
    known_claims: Mutex<Recent<UserId, KnownClaim, TRACKED_CLAIMS>>,
}

/// A claim of another node, and since when, in monotonic time, this node has known of it.
struct KnownClaim {
    until: Timestamp,
    since: Duration,
}

impl Claims {
    pub(super) fn new(grants: Arc<dyn GrantStore>, clock: Arc<dyn Clock>) -> Self {
        Self { grants, clock, known_claims: Mutex::default() }
    }

    /// Claims this version of a grant. Takes over a claim of a dead node.
    pub(super) async fn claim(&self, user: UserId, version: GrantVersion) -> Result<Claimed, StoreError> {
        let now = self.clock.now();
        let until = now.after(CLAIM_LEASE.get());
        let mut claimed = self.grants.claim_refresh(user, version, until, None).await?;
        if let Claimed::Held(held) = claimed
            && self.is_abandoned(user, held, now)
        {
            claimed = self.grants.claim_refresh(user, version, until, Some(held)).await?;
        }
        if claimed == Claimed::Granted {
            // If this attempt is aborted, its claim is measured from now.
            self.known_for(user, until);
        }
        Ok(claimed)
    }

    /// Returns whether the holder of the claim cannot be working on it any more.
    fn is_abandoned(&self, user: UserId, until: Timestamp, now: Timestamp) -> bool {
        let is_far_past = until.horizon() < now;
        let is_far_ahead = now.after(CLAIM_LEASE.get()).horizon() < until;
        is_far_past || is_far_ahead || self.known_for(user, until) >= CLAIM_LEASE.get()
    }

    /// Returns how long this node has known of a claim, and tracks it from now on.
    fn known_for(&self, user: UserId, until: Timestamp) -> Duration {
        let since = self.clock.monotonic();
        let mut known_claims = self.known_claims.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known_claims.get(&user).filter(|known| known.until == until) {
            return since.saturating_sub(known.since);
        }
        known_claims.insert(user, KnownClaim { until, since });
        Duration::ZERO
    }
}
