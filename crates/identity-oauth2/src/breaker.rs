//! The breaker: after many failures in a row a route is left alone for a while, then one call tries again.

use companion_domain::model::Timestamp;
use std::time::Duration;

/// What callers are told while someone else is trying.
const WHILE_TRYING: Duration = Duration::from_secs(1);

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// So many failures in a row open it.
    pub failures: u32,
    /// It stays open for this long, and twice as long after every try that fails …
    pub first_pause: Duration,
    /// … up to this.
    pub longest_pause: Duration,
}

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go out.
    Closed,
    /// No call goes out.
    Open,
    /// One call is out to see whether the platform is back.
    Trying,
}

/// What a call that was let through gives back with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ticket {
    Ordinary,
    Try,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open(Pause),
    Trying(Pause),
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    since: Timestamp,
    length: Duration,
}

impl Pause {
    /// How much of it is left. A clock that was set back ends it, rather than stretching it.
    fn left(self, now: Timestamp) -> Option<Duration> {
        let end = self.since.after(self.length);
        (self.since <= now && now < end).then(|| end.since(now))
    }
}

#[derive(Debug)]
pub(crate) struct Breaker {
    rules: BreakerRules,
    state: State,
}

impl Breaker {
    pub(crate) const fn new(rules: BreakerRules) -> Self {
        Self { rules, state: State::Closed { failures: 0 } }
    }

    /// How long no call would be let through; nothing where one would.
    pub(crate) fn closed_for(&self, now: Timestamp) -> Option<Duration> {
        match self.state {
            State::Closed { .. } => None,
            State::Open(pause) => pause.left(now),
            State::Trying(_) => Some(WHILE_TRYING),
        }
    }

    /// Lets a call through, or says how long to wait.
    pub(crate) fn admit(&mut self, now: Timestamp) -> Result<Ticket, Duration> {
        if let Some(wait) = self.closed_for(now) {
            return Err(wait);
        }
        match self.state {
            State::Open(pause) => {
                self.state = State::Trying(pause);
                Ok(Ticket::Try)
            }
            State::Closed { .. } | State::Trying(_) => Ok(Ticket::Ordinary),
        }
    }

    /// Learns what came of a call. What was sent before the breaker opened comes too late to change anything.
    pub(crate) fn learn(&mut self, ticket: Ticket, alive: bool, now: Timestamp) {
        self.state = match (self.state, ticket, alive) {
            (State::Closed { .. }, _, true) | (State::Trying(_), Ticket::Try, true) => {
                State::Closed { failures: 0 }
            }
            (State::Closed { failures }, _, false) => {
                let failures = failures.saturating_add(1);
                if failures < self.rules.failures {
                    State::Closed { failures }
                } else {
                    self.open(now, self.rules.first_pause)
                }
            }
            (State::Trying(pause), Ticket::Try, false) => self.open(now, pause.length.saturating_mul(2)),
            (unchanged @ (State::Open(_) | State::Trying(_)), _, _) => unchanged,
        };
    }

    /// Learns that a call was given up before anything came of it.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        if let (State::Trying(pause), Ticket::Try) = (self.state, ticket) {
            self.state = State::Open(pause);
        }
    }

    pub(crate) const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open(_) => BreakerState::Open,
            State::Trying(_) => BreakerState::Trying,
        }
    }

    fn open(&self, now: Timestamp, length: Duration) -> State {
        State::Open(Pause { since: now, length: length.min(self.rules.longest_pause) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: BreakerRules = BreakerRules {
        failures: 3,
        first_pause: Duration::from_secs(10),
        longest_pause: Duration::from_secs(30),
    };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn failed(breaker: &mut Breaker, times: u32, now: Timestamp) {
        for _ in 0..times {
            let ticket = breaker.admit(now).unwrap();
            breaker.learn(ticket, false, now);
        }
    }

    #[test]
    fn only_failures_in_a_row_open_it() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 2, at(0));
        breaker.learn(Ticket::Ordinary, true, at(0));
        failed(&mut breaker, 2, at(0));
        assert_eq!(breaker.state(), BreakerState::Closed);
        failed(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admit(at(4)), Err(seconds(6)));
    }

    #[test]
    fn after_the_pause_one_call_tries_and_success_closes_it() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        assert_eq!(breaker.admit(at(10)), Ok(Ticket::Try));
        assert_eq!(breaker.state(), BreakerState::Trying);
        assert_eq!(breaker.admit(at(10)), Err(WHILE_TRYING));
        breaker.learn(Ticket::Try, true, at(11));
        assert_eq!(breaker.admit(at(11)), Ok(Ticket::Ordinary));
    }

    #[test]
    fn every_try_that_fails_doubles_the_pause_up_to_the_longest() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        let mut now = at(10);
        for pause in [20, 30, 30] {
            failed(&mut breaker, 1, now);
            assert_eq!(breaker.closed_for(now), Some(seconds(pause)));
            now = now.after(seconds(pause));
        }
        // Once it was closed again, it starts small again.
        let ticket = breaker.admit(now).unwrap();
        breaker.learn(ticket, true, now);
        failed(&mut breaker, 3, now);
        assert_eq!(breaker.closed_for(now), Some(seconds(10)));
    }

    #[test]
    fn a_try_that_is_given_up_leaves_the_next_one_to_try() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        let ticket = breaker.admit(at(10)).unwrap();
        breaker.forget(ticket);
        assert_eq!(breaker.admit(at(10)), Ok(Ticket::Try));
    }

    #[test]
    fn what_was_sent_before_changes_nothing_any_more() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        breaker.learn(Ticket::Ordinary, true, at(1));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admit(at(10)), Ok(Ticket::Try));
        breaker.learn(Ticket::Ordinary, false, at(10));
        breaker.learn(Ticket::Ordinary, true, at(10));
        breaker.forget(Ticket::Ordinary);
        assert_eq!(breaker.state(), BreakerState::Trying);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_it_open() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(1000));
        assert_eq!(breaker.admit(at(5)), Ok(Ticket::Try));
    }
}
