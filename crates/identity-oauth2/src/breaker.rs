//! The breaker: after many failures in a row a route is left alone for a while, then one call tries again.

use crate::asker::Asker;
use companion_domain::model::Timestamp;
use std::time::Duration;

/// What callers are told while someone else is trying.
const WHILE_TRYING: Duration = Duration::from_secs(1);

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// So many failures in a row open it.
    pub failures: u32,
    /// What only one user was told, such as that their token is not accepted, is no failure until as many different
    /// ones were told such things in a row, within this time.
    pub within: Duration,
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

/// What a call says about the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// It is up.
    Alive,
    /// It fails, whoever asks.
    Failing,
    /// It told this one something that it may tell nobody else.
    Told(Asker),
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
    /// Who was told something since the last success, and when.
    told: Vec<(Asker, Timestamp)>,
}

impl Breaker {
    pub(crate) const fn new(rules: BreakerRules) -> Self {
        Self { rules, state: State::Closed { failures: 0 }, told: Vec::new() }
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
    pub(crate) fn learn(&mut self, ticket: Ticket, news: News, now: Timestamp) {
        self.state = match (self.state, ticket, news) {
            (State::Closed { .. }, _, News::Alive) | (State::Trying(_), Ticket::Try, News::Alive) => {
                self.told.clear();
                State::Closed { failures: 0 }
            }
            (unchanged @ State::Closed { .. }, _, News::Told(asker)) => {
                if self.told_enough(asker, now) {
                    self.open(now, self.rules.first_pause)
                } else {
                    unchanged
                }
            }
            // That proves nothing in either direction, so someone else tries after as long again.
            (State::Trying(pause), Ticket::Try, News::Told(_)) => self.open(now, pause.length),
            (State::Closed { failures }, _, News::Failing) => {
                let failures = failures.saturating_add(1);
                if failures < self.rules.failures {
                    State::Closed { failures }
                } else {
                    self.open(now, self.rules.first_pause)
                }
            }
            (State::Trying(pause), Ticket::Try, News::Failing) => {
                self.open(now, pause.length.saturating_mul(2))
            }
            (unchanged @ (State::Open(_) | State::Trying(_)), _, _) => unchanged,
        };
    }

    /// Notes who was told something. True where that makes enough of them.
    fn told_enough(&mut self, asker: Asker, now: Timestamp) -> bool {
        let within = self.rules.within;
        // What lies in the future was noted before the clock was set back.
        self.told.retain(|(other, at)| *other != asker && *at <= now && now < at.after(within));
        self.told.push((asker, now));
        self.told.len() >= self.rules.failures as usize
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

    fn open(&mut self, now: Timestamp, length: Duration) -> State {
        self.told.clear();
        State::Open(Pause { since: now, length: length.min(self.rules.longest_pause) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::UserId;

    const RULES: BreakerRules = BreakerRules {
        failures: 3,
        within: Duration::from_secs(60),
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
            breaker.learn(ticket, News::Failing, now);
        }
    }

    fn told(breaker: &mut Breaker, user: u64, now: Timestamp) {
        let ticket = breaker.admit(now).unwrap();
        breaker.learn(ticket, News::Told(Asker::User(UserId::new(user).unwrap())), now);
    }

    #[test]
    fn what_one_user_is_told_does_not_open_it_and_what_many_are_told_does() {
        let mut breaker = Breaker::new(RULES);
        for second in 0..100 {
            told(&mut breaker, 1, at(second));
        }
        told(&mut breaker, 2, at(100));
        assert_eq!(breaker.state(), BreakerState::Closed);
        told(&mut breaker, 3, at(101));
        assert_eq!(breaker.closed_for(at(101)), Some(seconds(10)));
    }

    #[test]
    fn only_different_users_in_a_row_and_within_its_time_count() {
        let mut breaker = Breaker::new(RULES);
        told(&mut breaker, 1, at(0));
        told(&mut breaker, 2, at(59));
        told(&mut breaker, 3, at(60));
        assert_eq!(breaker.state(), BreakerState::Closed, "the first is too long ago");
        breaker.learn(Ticket::Ordinary, News::Alive, at(61));
        told(&mut breaker, 4, at(62));
        told(&mut breaker, 5, at(62));
        assert_eq!(breaker.state(), BreakerState::Closed, "the platform was seen to be well");
        // A clock that was set back does not make them count for longer.
        told(&mut breaker, 6, at(5));
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn what_one_user_is_told_neither_counts_as_a_failure_nor_makes_failures_forgotten() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 2, at(0));
        told(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Closed);
        failed(&mut breaker, 1, at(0));
        assert_eq!(breaker.state(), BreakerState::Open);
    }

    #[test]
    fn a_try_that_only_its_user_learns_from_leaves_the_next_one_to_try_after_as_long_again() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 3, at(0));
        for now in [10, 20, 30] {
            told(&mut breaker, 1, at(now));
            assert_eq!(breaker.closed_for(at(now)), Some(seconds(10)));
        }
        let ticket = breaker.admit(at(40)).unwrap();
        breaker.learn(ticket, News::Alive, at(40));
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn only_failures_in_a_row_open_it() {
        let mut breaker = Breaker::new(RULES);
        failed(&mut breaker, 2, at(0));
        breaker.learn(Ticket::Ordinary, News::Alive, at(0));
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
        breaker.learn(Ticket::Try, News::Alive, at(11));
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
        breaker.learn(ticket, News::Alive, now);
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
        breaker.learn(Ticket::Ordinary, News::Alive, at(1));
        assert_eq!(breaker.state(), BreakerState::Open);
        assert_eq!(breaker.admit(at(10)), Ok(Ticket::Try));
        breaker.learn(Ticket::Ordinary, News::Failing, at(10));
        breaker.learn(Ticket::Ordinary, News::Alive, at(10));
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
