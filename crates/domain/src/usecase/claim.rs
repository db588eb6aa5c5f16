//! The right to work on a grant, for one node at a time.

use super::recent::Recent;
use crate::{
    model::{Span, Timestamp, UserId},
    port::{Claimed, Clock, GrantStore, GrantVersion, StoreError},
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long a claim keeps other nodes from trying: longer than all calls of an attempt may take together, so that two
/// nodes never use one refresh token.
pub(super) const CLAIM: Span = Span::from_seconds(30);
/// How many claims of others are remembered.
const MANY: usize = 10_000;

/// Claims grants, and tells claims of the dead from those of the living.
///
/// Clocks of nodes differ by minutes, and claims last half a minute, so the date on a claim says little. A node that
/// meets one counts for itself how long it stands, monotonically; whoever is alive has finished long before that. Only
/// a date that no living node can have written, further away than clocks differ, is believed at once.
pub(super) struct Claims {
    grants: Arc<dyn GrantStore>,
    clock: Arc<dyn Clock>,
    seen: Mutex<Recent<UserId, Seen, MANY>>,
}

/// A claim that stands, and since when, in monotonic time, this node has known of it.
struct Seen {
    until: Timestamp,
    since: Duration,
}

impl Claims {
    pub(super) fn new(grants: Arc<dyn GrantStore>, clock: Arc<dyn Clock>) -> Self {
        Self { grants, clock, seen: Mutex::default() }
    }

    /// Claims this version of a grant. A claim of a dead node is taken over.
    pub(super) async fn claim(&self, user: UserId, version: GrantVersion) -> Result<Claimed, StoreError> {
        let now = self.clock.now();
        let until = now.after(CLAIM.get());
        let mut claimed = self.grants.claim_refresh(user, version, until, None).await?;
        if let Claimed::Held(held) = claimed
            && self.is_dead(user, held, now)
        {
            claimed = self.grants.claim_refresh(user, version, until, Some(held)).await?;
        }
        if claimed == Claimed::Granted {
            // Should this very attempt break off, its claim is as old as it is.
            self.stands_for(user, until);
        }
        Ok(claimed)
    }

    /// Whether nobody can be at it any more.
    fn is_dead(&self, user: UserId, until: Timestamp, now: Timestamp) -> bool {
        let no_clock_is_so_late = until.horizon() < now;
        let no_clock_is_so_early = now.after(CLAIM.get()).horizon() < until;
        no_clock_is_so_late || no_clock_is_so_early || self.stands_for(user, until) >= CLAIM.get()
    }

    /// For how long this node has known of a claim. From now on it does.
    fn stands_for(&self, user: UserId, until: Timestamp) -> Duration {
        let since = self.clock.monotonic();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen.get(&user).filter(|known| known.until == until) {
            return since.saturating_sub(known.since);
        }
        seen.insert(user, Seen { until, since });
        Duration::ZERO
    }
}
