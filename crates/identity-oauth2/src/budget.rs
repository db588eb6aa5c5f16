//! A budget: a maximum number of bad outcomes per time window, after which no call is sent.

use companion_domain::model::Timestamp;
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    time::Duration,
};

/// Retry delay while calls in flight may use up the rest.
const IN_FLIGHT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The size of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetRules {
    /// Maximum number of bad outcomes …
    pub count: usize,
    /// … in any window of this length.
    pub within: Duration,
}

/// Counts bad outcomes. A call reserves one before it is sent, so that concurrent calls cannot overdraw the budget.
#[derive(Debug)]
pub(crate) struct Budget {
    rules: BudgetRules,
    spent: VecDeque<Timestamp>,
    reserved: usize,
}

impl Budget {
    pub(crate) const fn new(rules: BudgetRules) -> Self {
        Self { rules, spent: VecDeque::new(), reserved: 0 }
    }

    /// Returns how long the budget stays exhausted, or `None` if something is left.
    pub(crate) fn exhausted_for(&mut self, now: Timestamp) -> Option<Duration> {
        self.exhausted_but_for(0, now)
    }

    /// Returns how long at most the last `kept` are left, or `None` if there are more.
    pub(crate) fn exhausted_but_for(&mut self, kept: usize, now: Timestamp) -> Option<Duration> {
        let within = self.rules.within;
        self.spent.retain(|at| now < at.after(within));
        let room = self.rules.count.saturating_sub(kept);
        if self.spent.len().saturating_add(self.reserved) < room {
            return None;
        }
        // There is room for one as soon as this entry and all older ones have expired.
        let over = self.spent.len().checked_sub(room).and_then(|place| self.spent.get(place));
        Some(over.map_or(IN_FLIGHT_RETRY_AFTER, |at| at.after(within).since(now)))
    }

    /// Reserves one, even if the budget is exhausted.
    pub(crate) const fn reserve(&mut self) {
        self.reserved += 1;
    }

    /// Releases a reservation, or spends it.
    pub(crate) fn settle(&mut self, bad: bool, now: Timestamp) {
        self.reserved = self.reserved.saturating_sub(1);
        if bad {
            self.spend(now);
        }
    }

    /// Spends one without a reservation.
    pub(crate) fn spend(&mut self, now: Timestamp) {
        self.spent.push_back(now);
    }

    /// Returns how much is left. Reservations of calls in flight count as spent.
    pub(crate) fn left(&mut self, now: Timestamp) -> usize {
        self.exhausted_for(now);
        self.rules.count.saturating_sub(self.spent.len().saturating_add(self.reserved))
    }

    /// Returns how much is spent.
    pub(crate) fn spent(&mut self, now: Timestamp) -> usize {
        self.exhausted_for(now);
        self.spent.len()
    }
}

/// Maximum number of users or tokens that something is known about.
const MAX_ENTRIES: usize = 10_000;

/// Makes room for an entry of the key. If there are too many, drops those that do not count any more, or all if all do.
pub(crate) fn make_room<K: Eq + Hash, V>(
    entries: &mut HashMap<K, V>,
    key: &K,
    mut counts: impl FnMut(&mut V) -> bool,
) {
    if entries.len() >= MAX_ENTRIES && !entries.contains_key(key) {
        entries.retain(|_, value| counts(value));
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_testkit::world::at;

    fn budget() -> Budget {
        Budget::new(BudgetRules { count: 2, within: Duration::from_secs(60) })
    }

    fn spend(budget: &mut Budget, now: Timestamp) {
        budget.reserve();
        budget.settle(true, now);
    }

    #[test]
    fn the_reserved_part_is_exhausted_earlier() {
        let mut budget = budget();
        assert_eq!(budget.exhausted_but_for(1, at(0)), None);
        spend(&mut budget, at(0));
        assert_eq!(budget.exhausted_but_for(1, at(20)), Some(Duration::from_secs(40)));
        assert_eq!(budget.exhausted_for(at(20)), None);
        assert_eq!(budget.exhausted_but_for(5, at(70)), Some(IN_FLIGHT_RETRY_AFTER), "there never is any");
    }

    #[test]
    fn concurrent_calls_cannot_overdraw() {
        let mut budget = budget();
        budget.reserve();
        budget.reserve();
        assert_eq!(budget.exhausted_for(at(0)), Some(IN_FLIGHT_RETRY_AFTER));
        budget.settle(false, at(0));
        assert_eq!(budget.exhausted_for(at(0)), None);
        budget.reserve();
        budget.settle(true, at(0));
        budget.settle(true, at(0));
        assert_eq!(budget.exhausted_for(at(0)), Some(Duration::from_secs(60)));
    }

    #[test]
    fn bounds_memory_and_evicts_what_does_not_count_first() {
        let mut entries: HashMap<_, _> = (0..MAX_ENTRIES).map(|number| (number, number == 1)).collect();
        make_room(&mut entries, &1, |counts| *counts);
        assert_eq!(entries.len(), MAX_ENTRIES, "it has its place");
        make_room(&mut entries, &MAX_ENTRIES, |counts| *counts);
        assert_eq!(entries, HashMap::from([(1, true)]));
        entries = (0..MAX_ENTRIES).map(|number| (number, true)).collect();
        make_room(&mut entries, &MAX_ENTRIES, |counts| *counts);
        assert!(entries.is_empty());
    }
}
