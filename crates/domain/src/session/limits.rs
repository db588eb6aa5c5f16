//! Expiry of sessions, and their recorded uses.

use super::{TokenHash, UserAgent};
use crate::model::{Span, Timestamp, UserId};
use std::{num::NonZeroU32, time::Duration};

/// Uses of a session are recorded at least this often, whatever its idle limit.
const MAX_GRAIN: Duration = Duration::from_secs(60 * 60);

/// A signed-in user. The token itself is not part of it, and cannot be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The hash of its token.
    pub id: TokenHash,
    /// The user.
    pub user: UserId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last used, as far as recorded.
    pub last_seen_at: Timestamp,
    /// The user agent at the sign-in, if any.
    pub user_agent: Option<UserAgent>,
}

/// Limits that end a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Maximum lifetime, used or not.
    pub lifetime: Span,
    /// Maximum time without use.
    pub idle: Span,
    /// Maximum number per user; the oldest is evicted.
    pub per_user: NonZeroU32,
}

impl SessionLimits {
    /// Returns what has ended by `now`, as timestamps that a store can compare with.
    #[must_use]
    pub fn cutoffs(&self, now: Timestamp) -> Cutoffs {
        Cutoffs {
            created: now.before(self.lifetime.get()),
            seen: now.before(self.idle.get()),
            ahead: now.horizon(),
        }
    }

    /// Returns the granularity at which uses are recorded: a hundredth of the idle limit, at most an hour.
    #[must_use]
    pub fn grain(&self) -> Duration {
        (self.idle.get() / 100).min(MAX_GRAIN)
    }

    /// Returns when the session ends if it is not used again. A time that lies ahead counts as now.
    #[must_use]
    pub fn ends_at(&self, session: &Session, now: Timestamp) -> Timestamp {
        let by_age = session.created_at.min(now).after(self.lifetime.get());
        let by_idleness = session.last_seen_at.min(now).after(self.idle.get());
        by_age.min(by_idleness)
    }
}

/// Limits in absolute time: a session has ended if it was created at or before `created`, or last used at or before `seen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cutoffs {
    /// Sessions created at or before this are too old.
    pub created: Timestamp,
    /// Sessions last used at or before this have been idle for too long.
    pub seen: Timestamp,
    /// A time after this lies further ahead than clocks may differ. It ends no session.
    pub ahead: Timestamp,
}

impl Cutoffs {
    /// Returns whether the session has ended. The single definition; stores only compare the same two timestamps.
    #[must_use]
    pub fn has_ended(&self, session: &Session) -> bool {
        session.created_at <= self.created || session.last_seen_at <= self.seen
    }
}

/// Returns which of a user's sessions must be evicted to make room for one more. Ended ones go first. Then those
/// dated ahead, which were created before a clock was set back and are older than their date. Then the oldest.
#[must_use]
pub fn exceeding(mut sessions: Vec<Session>, cap: NonZeroU32, ended: Cutoffs) -> Vec<Session> {
    let room = usize::try_from(cap.get() - 1).unwrap_or(usize::MAX);
    let excess = sessions.len().saturating_sub(room);
    let stays_longer = |session: &Session| (!ended.has_ended(session), session.created_at <= ended.ahead);
    sessions.sort_by_key(|session| (stays_longer(session), session.created_at, session.id));
    sessions.truncate(excess);
    sessions
}

/// Sessions and their last uses, few enough for one short write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses<'a>(&'a [(TokenHash, Timestamp)]);

impl<'a> Uses<'a> {
    /// Maximum number of uses in one write.
    pub const MAX_BATCH: usize = 500;

    /// Wraps a single use.
    #[must_use]
    pub const fn one(used: &'a (TokenHash, Timestamp)) -> Self {
        Self(std::slice::from_ref(used))
    }

    /// Splits any number of uses into batches.
    pub fn batches(used: &'a [(TokenHash, Timestamp)]) -> impl Iterator<Item = Self> {
        used.chunks(Self::MAX_BATCH).map(Self)
    }

    /// Returns the uses, at least one.
    #[must_use]
    pub const fn as_slice(self) -> &'a [(TokenHash, Timestamp)] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(lifetime: u32, idle: u32) -> SessionLimits {
        SessionLimits {
            lifetime: Span::from_seconds(lifetime),
            idle: Span::from_seconds(idle),
            per_user: NonZeroU32::MIN,
        }
    }

    fn session(created: i64, seen: i64) -> Session {
        Session {
            id: TokenHash::from_bytes([7; 32]),
            user: UserId::new(1).unwrap(),
            created_at: Timestamp::from_micros(created),
            last_seen_at: Timestamp::from_micros(seen),
            user_agent: None,
        }
    }

    #[test]
    fn a_session_ends_exactly_at_its_limit() {
        let (created, seen) = (1_000_000_000, 1_050_000_000);
        for (lifetime, idle, end) in [(100, 80, 1_100_000_000), (200, 20, 1_070_000_000)] {
            let (limits, session) = (limits(lifetime, idle), session(created, seen));
            assert_eq!(limits.ends_at(&session, Timestamp::from_micros(end)), Timestamp::from_micros(end));
            assert!(!limits.cutoffs(Timestamp::from_micros(end - 1)).has_ended(&session));
            assert!(limits.cutoffs(Timestamp::from_micros(end)).has_ended(&session));
        }
    }

    #[test]
    fn a_time_ahead_counts_as_now_and_ends_no_session() {
        let (limits, now) = (limits(100, 80), Timestamp::from_micros(1_000_000_000));
        for ahead in [1, 240_000_000, 300_000_000, 300_000_001, 31_536_000_000_000] {
            let session = session(now.micros() + ahead, now.micros() + ahead);
            assert!(!limits.cutoffs(now).has_ended(&session), "{ahead}");
            assert_eq!(limits.ends_at(&session, now), now.after(limits.idle.get()), "{ahead}");
        }
    }

    #[test]
    fn grain_is_a_hundredth_of_the_idle_limit_up_to_an_hour() {
        for (idle, grain) in [(1, 10), (100, 1000), (360_000, 3_600_000), (604_800, 3_600_000)] {
            assert_eq!(limits(1, idle).grain(), Duration::from_millis(grain), "{idle}");
        }
    }

    const ENDED: Cutoffs = Cutoffs {
        created: Timestamp::from_micros(10),
        seen: Timestamp::from_micros(20),
        ahead: Timestamp::from_micros(100),
    };

    #[test]
    fn evicts_ended_then_dated_ahead_then_oldest() {
        let all = [(90, 95), (100, 100), (10, 99), (101, 101), (30, 20), (40, 99)];
        let order = [10, 30, 101, 40, 90, 100];
        for cap in 1..=7 {
            let gone = exceeding(
                all.map(|(created, seen)| session(created, seen)).to_vec(),
                NonZeroU32::new(cap).unwrap(),
                ENDED,
            );
            let gone: Vec<_> = gone.iter().map(|session| session.created_at.micros()).collect();
            let expected = 7 - usize::try_from(cap).unwrap();
            assert_eq!(gone, order[..expected], "room for {cap}");
        }
    }
}
