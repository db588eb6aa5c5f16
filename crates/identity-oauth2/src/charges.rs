//! What the platform refused, charged to the users who caused it.

use crate::{BudgetRules, budget::Budget};
use companion_domain::{
    model::{Timestamp, UserId},
    port::ClientMark,
};
use std::{collections::HashMap, time::Duration};

/// Past this many users, those are forgotten whose refusals are over; and past it still, all are.
const MANY: usize = 10_000;

/// A small budget for each user. Whoever has used it up waits, and nobody else does.
#[derive(Debug)]
pub(crate) struct Charges {
    rules: BudgetRules,
    users: HashMap<UserId, Budget>,
}

impl Charges {
    pub(crate) fn new(rules: BudgetRules) -> Self {
        Self { rules, users: HashMap::new() }
    }

    /// How long nothing is asked for this user; nothing where it may be.
    pub(crate) fn empty_for(&mut self, user: UserId, now: Timestamp) -> Option<Duration> {
        self.users.get_mut(&user)?.empty_for(now)
    }

    pub(crate) fn charge(&mut self, user: UserId, now: Timestamp) {
        if self.users.len() >= MANY && !self.users.contains_key(&user) {
            self.users.retain(|_, budget| budget.spent(now) > 0);
            if self.users.len() >= MANY {
                self.users.clear();
            }
        }
        self.users.entry(user).or_insert_with(|| Budget::new(self.rules)).spend(now);
    }
}

/// For whom a call is made, as far as we know: who is to pay where the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// For us: what the platform says, it says to everybody here.
    Ourselves,
    /// For someone who is signing in. Who it is, the call is about to tell.
    Client(ClientMark),
    /// For someone who is signing in and whom another call, under way at the same time, is about to tell.
    Arriving(ClientMark),
    /// For a user.
    User(UserId),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charges() -> Charges {
        Charges::new(BudgetRules { count: 2, within: Duration::from_secs(600) })
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn user(number: usize) -> UserId {
        UserId::new(number as u64).unwrap()
    }

    #[test]
    fn whoever_used_up_their_own_waits_and_nobody_else() {
        let mut charges = charges();
        charges.charge(user(1), at(0));
        assert_eq!(charges.empty_for(user(1), at(0)), None);
        charges.charge(user(1), at(100));
        assert_eq!(charges.empty_for(user(1), at(100)), Some(Duration::from_secs(500)));
        assert_eq!(charges.empty_for(user(2), at(100)), None);
        assert_eq!(charges.empty_for(user(1), at(600)), None);
    }

    #[test]
    fn the_memory_is_bounded_and_what_still_counts_stays_longest() {
        let mut charges = charges();
        for number in 1..=MANY {
            charges.charge(user(number), at(if number == 1 { 500 } else { 0 }));
        }
        charges.charge(user(MANY + 1), at(600));
        assert_eq!(charges.users.len(), 2);
        for number in 1..=3 * MANY {
            charges.charge(user(number), at(600));
        }
        assert!(charges.users.len() <= MANY);
    }
}
