//! What comes of attempts to get newer lists.

use crate::{
    port::{IdentityError, IdentityErrorKind, StoreError},
    session::Session,
};
use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

/// What came of an attempt to get a newer list.
#[derive(Debug, Clone)]
pub(super) enum Refreshed {
    /// A newer list is stored.
    Stored,
    /// The grant was replaced meanwhile; look again.
    Replaced,
    /// The platform ended the grant, and these sessions with it.
    SignedOut(Ended),
    /// Another node is working on it for longer than a request waits, or the attempt broke off.
    Pending,
    /// The platform failed.
    Failed(Arc<IdentityError>),
    /// The store failed.
    StoreFailed(Arc<StoreError>),
}

/// Sessions that have ended. Of all who waited for the attempt, the first to ask gets them, so that they are audited once. Where
/// nobody waited any more they are kept for whoever asks for those.
#[derive(Debug, Clone)]
pub(super) struct Ended(Arc<Untold>);

#[derive(Debug)]
struct Untold {
    sessions: Mutex<Vec<Session>>,
    unheard: Arc<Mutex<Vec<Session>>>,
}

impl Ended {
    pub(super) fn of(sessions: Vec<Session>, unheard: &Arc<Mutex<Vec<Session>>>) -> Self {
        Self(Arc::new(Untold { sessions: Mutex::new(sessions), unheard: Arc::clone(unheard) }))
    }

    pub(super) fn take(&self) -> Vec<Session> {
        take(&self.0.sessions)
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        let mut untold = take(&self.sessions);
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner).append(&mut untold);
    }
}

pub(super) fn take(sessions: &Mutex<Vec<Session>>) -> Vec<Session> {
    mem::take(&mut sessions.lock().unwrap_or_else(PoisonError::into_inner))
}

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
