//! Which sessions go when a user has too many.

use super::{Cutoffs, Session};
use std::num::NonZeroU32;

/// Those of a user's sessions that must go to leave room for one more: first those that are over, then those whose date
/// lies ahead, since they were made before a clock was set back and are older than they say, then the oldest.
#[must_use]
pub fn exceeding(mut sessions: Vec<Session>, cap: NonZeroU32, ended: Cutoffs) -> Vec<Session> {
    let room = usize::try_from(cap.get() - 1).unwrap_or(usize::MAX);
    let excess = sessions.len().saturating_sub(room);
    let stays_longer = |session: &Session| (!ended.end(session), session.created_at <= ended.ahead);
    sessions.sort_by_key(|session| (stays_longer(session), session.created_at, session.id));
    sessions.truncate(excess);
    sessions
}
