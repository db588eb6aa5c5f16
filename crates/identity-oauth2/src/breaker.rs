//! The circuit breaker: it opens after consecutive failures of a route, and later lets one probe through.

use crate::{call_limiter::Principal, limits::left};
use companion_domain::model::Timestamp;
use std::time::Duration;

/// Retry delay for callers while a probe is in flight.
const PROBE_RETRY_AFTER: Duration = Duration::from_secs(1);

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// Number of consecutive failures that open it.
    pub failures: u32,
    /// Window for refusals of single users, such as a rejected token. They count as failures only once `failures`
    /// different users were refused in a row within it.
    pub within: Duration,
    /// Initial duration of the open state. It doubles after every failed probe.
    pub first_pause: Duration,
    /// Upper bound of that duration.
    pub longest_pause: Duration,
}

/// The state of a breaker, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BreakerState {
    /// Calls are sent.
    #[default]
    Closed,
    /// No call is sent.
    Open,
    /// A single probe is in flight.
    HalfOpen,
}

/// How a call was admitted. It is returned with the outcome of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerPermit {
    Regular,
    Probe,
}

/// What a call reveals about the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observation {
    /// It is up.
    Alive,
    /// It fails for every caller.
    Failing,
    /// It refused this principal, which says nothing about the others.
    RefusedFor(Principal),
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Closed { failures: u32 },
    Open(Pause),
    HalfOpen(Pause),
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Timestamp,
    length: Duration,
}

#[derive(Debug)]
pub(crate) struct CircuitBreaker {
    rules: BreakerRules,
    state: Phase,
    /// The principals refused since the last success, and when.
    refused_users: Vec<(Principal, Timestamp)>,
}

impl CircuitBreaker {
    pub(crate) const fn new(rules: BreakerRules) -> Self {
        Self { rules, state: Phase::Closed { failures: 0 }, refused_users: Vec::new() }
    }

    /// Returns how long calls are rejected, or `None` if one would be admitted.
    pub(crate) fn blocked_for(&self, now: Timestamp) -> Option<Duration> {
        match self.state {
            Phase::Closed { .. } => None,
            Phase::Open(pause) => left(pause.until, now),
            Phase::HalfOpen(_) => Some(PROBE_RETRY_AFTER),
        }
    }

    /// Admits a call, or returns how long to wait.
    pub(crate) fn admit(&mut self, now: Timestamp) -> Result<BreakerPermit, Duration> {
        if let Some(wait) = self.blocked_for(now) {
            return Err(wait);
        }
        match self.state {
            Phase::Open(pause) => {
                self.state = Phase::HalfOpen(pause);
                Ok(BreakerPermit::Probe)
            }
            Phase::Closed { .. } | Phase::HalfOpen(_) => Ok(BreakerPermit::Regular),
        }
    }

    /// Records the outcome of a call. Outcomes of calls sent before the breaker opened are ignored.
    pub(crate) fn record(&mut self, permit: BreakerPermit, observation: Observation, now: Timestamp) {
        self.state = match (self.state, permit, observation) {
            (Phase::Closed { .. }, _, Observation::Alive)
            | (Phase::HalfOpen(_), BreakerPermit::Probe, Observation::Alive) => {
                self.refused_users.clear();
                Phase::Closed { failures: 0 }
            }
            (unchanged @ Phase::Closed { .. }, _, Observation::RefusedFor(principal)) => {
                if self.note_refused(principal, now) {
                    self.open(now, self.rules.first_pause)
                } else {
                    unchanged
                }
            }
            // The probe proves nothing in either direction, so another one follows after the same pause.
            (Phase::HalfOpen(pause), BreakerPermit::Probe, Observation::RefusedFor(_)) => {
                self.open(now, pause.length)
            }
            (Phase::Closed { failures }, _, Observation::Failing) => {
                let failures = failures.saturating_add(1);
                if failures < self.rules.failures {
                    Phase::Closed { failures }
                } else {
                    self.open(now, self.rules.first_pause)
                }
            }
            (Phase::HalfOpen(pause), BreakerPermit::Probe, Observation::Failing) => {
                self.open(now, pause.length.saturating_mul(2))
            }
            (unchanged @ (Phase::Open(_) | Phase::HalfOpen(_)), _, _) => unchanged,
        };
    }

    /// Records a refused principal. Returns whether enough different ones were refused.
    fn note_refused(&mut self, principal: Principal, now: Timestamp) -> bool {
        let within = self.rules.within;
        self.refused_users.retain(|(other, at)| *other != principal && now < at.after(within));
        self.refused_users.push((principal, now));
        self.refused_users.len() >= self.rules.failures as usize
    }

    /// Records that a call was cancelled without an outcome.
    pub(crate) fn cancel(&mut self, permit: BreakerPermit) {
        if let (Phase::HalfOpen(pause), BreakerPermit::Probe) = (self.state, permit) {
            self.state = Phase::Open(pause);
        }
    }

    pub(crate) const fn state(&self) -> BreakerState {
        match self.state {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open(_) => BreakerState::Open,
            Phase::HalfOpen(_) => BreakerState::HalfOpen,
        }
    }

    fn open(&mut self, now: Timestamp, length: Duration) -> Phase {
        self.refused_users.clear();
        let length = length.min(self.rules.longest_pause);
        Phase::Open(Pause { until: now.after(length), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::UserId;
    use companion_testkit::world::at;

    const RULES: BreakerRules = BreakerRules {
        failures: 3,
        within: Duration::from_secs(60),
        first_pause: Duration::from_secs(10),
        longest_pause: Duration::from_secs(30),
    };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn failed(breaker: &mut CircuitBreaker, times: u32, now: Timestamp) {
        for _ in 0..times {
            let permit = breaker.admit(now).unwrap();
            breaker.record(permit, Observation::Failing, now);
        }
    }

    fn refused(breaker: &mut CircuitBreaker, user: u64, now: Timestamp) {
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, Observation::RefusedFor(Principal::User(UserId::new(user).unwrap())), now);
    }

    #[test]
    fn counts_consecutive_refusals_of_different_users_in_window() {
        let mut breaker = CircuitBreaker::new(RULES);
        refused(&mut breaker, 1, at(0));
        refused(&mut breaker, 2, at(59));
        refused(&mut breaker, 3, at(60));
        assert_eq!(breaker.state(), BreakerState::Closed, "the first is too long ago");
        breaker.record(BreakerPermit::Regular, Observation::Alive, at(61));
        refused(&mut breaker, 4, at(62));
        refused(&mut breaker, 5, at(62));
        assert_eq!(breaker.state(), BreakerState::Closed, "the platform was seen to be well");
    }

    #[test]
    fn a_refusal_of_one_user_keeps_the_failure_count() {
        let mut breaker = CircuitBreaker::new(RULES);
        failed(&mut breaker, 2, at(0));
        refused(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Closed);
        failed(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Open);
    }

    #[test]
    fn an_inconclusive_probe_repeats_after_the_same_pause() {
        let mut breaker = CircuitBreaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        for now in [10, 20, 30] {
            refused(&mut breaker, 1, at(now));
            assert_eq!(breaker.blocked_for(at(now)), Some(seconds(10)));
        }
        let permit = breaker.admit(at(40)).unwrap();
        breaker.record(permit, Observation::Alive, at(40));
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn only_consecutive_failures_open_it() {
        let mut breaker = CircuitBreaker::new(RULES);
        failed(&mut breaker, 2, at(0));
        breaker.record(BreakerPermit::Regular, Observation::Alive, at(0));
        failed(&mut breaker, 2, at(0));
        assert_eq!(breaker.state(), BreakerState::Closed);
        failed(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admit(at(4)), Err(seconds(6)));
    }

    #[test]
    fn a_failed_probe_doubles_the_pause_up_to_the_maximum() {
        let mut breaker = CircuitBreaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        let mut now = at(10);
        for pause in [20, 30, 30] {
            failed(&mut breaker, 1, now);
            assert_eq!(breaker.blocked_for(now), Some(seconds(pause)));
            now = now.after(seconds(pause));
        }
        // After closing, the pause starts at its initial length again.
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, Observation::Alive, now);
        failed(&mut breaker, 3, now);
        assert_eq!(breaker.blocked_for(now), Some(seconds(10)));
    }

    #[test]
    fn ignores_outcomes_of_calls_sent_before_it_opened() {
        let mut breaker = CircuitBreaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        breaker.record(BreakerPermit::Regular, Observation::Alive, at(1));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admit(at(10)), Ok(BreakerPermit::Probe));
        breaker.record(BreakerPermit::Regular, Observation::Failing, at(10));
        breaker.record(BreakerPermit::Regular, Observation::Alive, at(10));
        breaker.cancel(BreakerPermit::Regular);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
    }
}
