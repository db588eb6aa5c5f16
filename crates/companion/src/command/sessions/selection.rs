//! Which sessions are to end.

use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session},
};
use std::num::NonZeroU32;

/// How many end at once, so that nobody who signs in meanwhile waits long.
const BATCH: NonZeroU32 = NonZeroU32::new(500).unwrap();

/// Sessions that are to end.
pub(super) enum Selection {
    Everyone,
    User(UserId),
    Over(Cutoffs),
}

impl Selection {
    /// Ends some of them, and none where none is left.
    pub(super) async fn end_some(&self, sessions: &dyn SessionStore) -> Result<Vec<Session>, StoreError> {
        // By a time that never comes every session is over.
        const ALL: Cutoffs = {
            let end = Timestamp::from_micros(i64::MAX);
            Cutoffs { created: end, seen: end, ahead: end }
        };
        match self {
            Self::User(user) => sessions.revoke_user(*user).await,
            Self::Everyone => sessions.prune(ALL, BATCH).await,
            Self::Over(cutoffs) => sessions.prune(*cutoffs, BATCH).await,
        }
    }
}
