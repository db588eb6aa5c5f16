//! What happens when.

use super::trouble::Trouble;
use companion_domain::model::Timestamp;
use std::{cmp::Reverse, collections::BinaryHeap};

/// Something that happens. Users go by their place in the list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A user comes, does this and that, and will come again.
    Active(usize),
    /// A user looks once, and that is all.
    Glance(usize),
    /// Many come at the same moment.
    Crowd,
    /// The platform is not well from now on.
    TroubleBegins(Trouble),
    /// The platform is well again.
    TroubleEnds,
    /// The first to sign in after a trouble, on this node.
    EarlyBird(usize),
    /// A node dies just after it has claimed a refresh.
    Death,
    /// What the service does without being asked, now and then.
    Housekeeping,
}

/// What is still to happen, the next first.
#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    added: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, at: Timestamp, event: Event) {
        self.added += 1;
        self.heap.push(Reverse((at, self.added, event)));
    }

    pub(super) fn next(&mut self) -> Option<(Timestamp, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
