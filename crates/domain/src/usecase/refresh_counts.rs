//! How attempts to get newer lists ended.

use super::refresh::Refreshed;
use crate::port::IdentityErrorKind;
use std::sync::{Mutex, PoisonError};

/// How many attempts ended in which way since the process began. Each attempt counts once, however many waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefreshCounts {
    /// A newer list was stored.
    pub stored: u64,
    /// Someone else had replaced the grant meanwhile, as another node or a new sign-in does.
    pub replaced: u64,
    /// The platform had ended the grant, and the user was signed out.
    pub signed_out: u64,
    /// Another node was still working on it.
    pub pending: u64,
    /// The platform was limiting us.
    pub limited: u64,
    /// The platform failed in another way.
    pub failed: u64,
    /// The store failed.
    pub store_failed: u64,
}

#[derive(Debug, Default)]
pub(super) struct RefreshCounter(Mutex<RefreshCounts>);

impl RefreshCounter {
    pub(super) fn note(&self, refreshed: &Refreshed) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = &mut *counts;
        *match refreshed {
            Refreshed::Stored => &mut counts.stored,
            Refreshed::Replaced => &mut counts.replaced,
            Refreshed::SignedOut(_) => &mut counts.signed_out,
            Refreshed::Pending => &mut counts.pending,
            Refreshed::Failed(error) if matches!(error.kind, IdentityErrorKind::Limited(_)) => {
                &mut counts.limited
            }
            Refreshed::Failed(_) => &mut counts.failed,
            Refreshed::StoreFailed(_) => &mut counts.store_failed,
        } += 1;
    }

    pub(super) fn read(&self) -> RefreshCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
