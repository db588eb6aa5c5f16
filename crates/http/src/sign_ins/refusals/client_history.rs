//! History of one client that sends codes, and the limits that follow from it.

use crate::error::ApiError;
use companion_domain::{model::CodeFingerprint, port::Reputation};
use std::{collections::HashMap, num::NonZeroU32, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// Maximum number of codes of one client in flight.
pub(super) const MAX_IN_FLIGHT: usize = 256;
/// Codes in flight that are in good standing before the first one succeeded.
const INITIAL_CREDIT: i64 = 4;
/// Number of refused codes that a good one offsets.
const CREDIT: u32 = 3;
/// How long a client is remembered after its last code.
const FORGET_AFTER: Duration = Duration::from_secs(600);

/// Limit of refused codes per client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    limit: u32,
    /// Time after which one refusal is forgiven.
    pub(super) interval: Duration,
}

impl Rules {
    /// Allows this many per minute.
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self { limit: per_minute.get(), interval: Duration::from_secs(60) / per_minute.get() }
    }
}

/// History of one client.
///
/// Its refusals are rate-limited. Each is forgiven after a while; good codes forgive some at once, so that users behind
/// a shared address are not locked out by a few who send junk. Its balance is what its good codes offset, minus its
/// refusals. Time alone does not restore the balance; otherwise slow junk would go unnoticed.
#[derive(Debug)]
pub(super) struct ClientHistory {
    /// When every refusal is forgiven.
    clean_at: Instant,
    /// Credit of its good codes minus its refused ones.
    balance: i64,
    /// When it last sent a code.
    last_seen: Instant,
    /// The codes in flight, each with the number of attempts that share it.
    pub(super) in_flight: HashMap<CodeFingerprint, usize>,
    /// Notified whenever an attempt ends.
    pub(super) ended: Arc<Notify>,
}

impl ClientHistory {
    pub(super) fn new(now: Instant) -> Self {
        let (in_flight, ended) = (HashMap::new(), Arc::default());
        Self { clean_at: now, balance: 0, last_seen: now, in_flight, ended }
    }

    /// Whether nothing has to be remembered.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.in_flight.is_empty() && self.clean_at <= now && (self.balance == 0 || self.is_old(now))
    }

    /// Records that it sent a code. An old balance expires.
    pub(super) fn seen(&mut self, now: Instant) {
        if self.is_old(now) {
            self.balance = 0;
        }
        self.last_seen = now;
    }

    fn is_old(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last_seen) >= FORGET_AFTER
    }

    /// Returns how many refusals it has left, or `RateLimited` with the time until it has one.
    pub(super) fn left(&self, rules: Rules, now: Instant) -> Result<u32, ApiError> {
        let Rules { limit, interval } = rules;
        let until_clean = self.clean_at.saturating_duration_since(now);
        let used = until_clean.as_nanos().div_ceil(interval.as_nanos().max(1));
        let left = limit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
        if left == 0 {
            return Err(ApiError::RateLimited(until_clean.saturating_sub(interval * (limit - 1))));
        }
        Ok(left)
    }

    /// Returns how many of its codes may be in flight. With a negative balance, that is at most its remaining refusals.
    pub(super) fn slots(&self, rules: Rules, now: Instant) -> Result<usize, ApiError> {
        let left = self.left(rules, now)?;
        Ok(if self.balance < 0 { MAX_IN_FLIGHT.min(left as usize) } else { MAX_IN_FLIGHT })
    }

    /// Returns the standing of its next code, given those in flight.
    pub(super) fn standing(&self) -> Reputation {
        let covered = if self.balance < 0 { 0 } else { INITIAL_CREDIT + self.balance };
        let in_flight = i64::try_from(self.in_flight.len()).unwrap_or(i64::MAX);
        if in_flight < covered { Reputation::Good } else { Reputation::Doubtful }
    }

    /// Records a refused code.
    pub(super) fn refused(&mut self, rules: Rules, now: Instant) {
        let clean_at = self.clean_at.max(now) + rules.interval;
        // More refusals than the limit do not extend the wait.
        self.clean_at = clean_at.min(now + rules.interval * rules.limit);
        self.balance = (self.balance - 1).max(-i64::from(rules.limit));
    }

    /// Records a good code.
    pub(super) fn good(&mut self, rules: Rules, now: Instant) {
        let forgiven = rules.interval * CREDIT;
        self.clean_at = self.clean_at.checked_sub(forgiven).map_or(now, |clean_at| clean_at.max(now));
        let most = i64::try_from(MAX_IN_FLIGHT).unwrap_or(i64::MAX);
        self.balance = (self.balance + i64::from(CREDIT)).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u32 = 30;

    /// Returns the history of a client after this many refused codes, the rules, and the time.
    fn refused(codes: u32) -> (ClientHistory, Rules, Instant) {
        let (rules, now) = (Rules::new(NonZeroU32::new(LIMIT).unwrap()), Instant::now());
        let mut history = ClientHistory::new(now);
        (0..codes).for_each(|_| history.refused(rules, now));
        (history, rules, now)
    }

    #[test]
    fn waits_at_most_for_one_forgiven_refusal() {
        let (history, rules, now) = refused(100);
        let wait = Duration::from_secs(60) / LIMIT;
        assert!(matches!(history.left(rules, now), Err(ApiError::RateLimited(left)) if left == wait));
        assert_eq!(history.left(rules, now + wait).ok(), Some(1));
    }

    #[test]
    fn a_good_code_offsets_three_refused_ones() {
        let (mut history, rules, now) = refused(LIMIT);
        history.good(rules, now);
        assert_eq!(history.left(rules, now).ok(), Some(3));
        (0..100).for_each(|_| history.good(rules, now));
        assert_eq!(history.left(rules, now).ok(), Some(LIMIT), "never above the limit");
    }

    #[test]
    fn good_codes_offset_refused_ones_in_the_standing() {
        let (mut history, rules, now) = refused(0);
        assert_eq!(history.standing(), Reputation::Good);
        history.good(rules, now);
        (0..3).for_each(|_| history.refused(rules, now));
        assert_eq!(history.standing(), Reputation::Good);
        history.refused(rules, now);
        assert_eq!(history.standing(), Reputation::Doubtful);
        // All refusals are forgiven by then, but the balance is still negative.
        let later = now + Duration::from_secs(599);
        history.seen(later);
        assert_eq!(history.left(rules, later).ok(), Some(LIMIT));
        assert_eq!(history.standing(), Reputation::Doubtful);
        history.seen(later + FORGET_AFTER);
        assert_eq!(history.standing(), Reputation::Good);
    }

    #[test]
    fn limits_codes_in_flight_in_good_standing() {
        let (mut history, rules, now) = refused(0);
        let mut standing_with = |codes: u8, good: bool| {
            if good {
                history.good(rules, now);
            }
            history.in_flight = (0..codes).map(|code| (CodeFingerprint::from_bytes([code; 32]), 1)).collect();
            history.standing()
        };
        assert_eq!(standing_with(3, false), Reputation::Good);
        assert_eq!(standing_with(4, false), Reputation::Doubtful);
        assert_eq!(standing_with(6, true), Reputation::Good);
        assert_eq!(standing_with(7, false), Reputation::Doubtful);
    }

    #[test]
    fn a_negative_balance_limits_codes_in_flight() {
        let (mut history, rules, now) = refused(0);
        assert_eq!(history.slots(rules, now).ok(), Some(256));
        history.refused(rules, now);
        assert_eq!(history.slots(rules, now).ok(), Some(29));
        history.good(rules, now);
        assert_eq!(history.slots(rules, now).ok(), Some(256));
    }
}
