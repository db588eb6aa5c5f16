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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{Timestamp, UserId},
        session::TokenHash,
    };

    const ENDED: Cutoffs = Cutoffs {
        created: Timestamp::from_micros(10),
        seen: Timestamp::from_micros(20),
        ahead: Timestamp::from_micros(100),
    };

    /// Made at so many microseconds, used at so many.
    fn session((created, seen): (i64, i64)) -> Session {
        let number = u8::try_from(created).unwrap();
        Session {
            id: TokenHash::from_bytes([number; 32]),
            user: UserId::new(1).unwrap(),
            created_at: Timestamp::from_micros(created),
            last_seen_at: Timestamp::from_micros(seen),
            user_agent: None,
        }
    }

    #[test]
    fn what_is_over_goes_first_then_what_lies_ahead_then_the_oldest() {
        let all = [(90, 95), (100, 100), (10, 99), (101, 101), (30, 20), (40, 99)];
        let order = [10, 30, 101, 40, 90, 100];
        for cap in 1..=7 {
            let gone = exceeding(all.map(session).to_vec(), NonZeroU32::new(cap).unwrap(), ENDED);
            let gone: Vec<_> = gone.iter().map(|session| session.created_at.micros()).collect();
            let expected = 7 - usize::try_from(cap).unwrap();
            assert_eq!(gone, order[..expected], "room for {cap}");
        }
    }
}
