//! What one write changes, until it becomes history.

use companion_domain::change::{Kind, Subject};
use std::collections::BTreeMap;

/// More changes of one kind in one write than this are summed up as [`Subject::Many`].
pub(crate) const NAMED: usize = 100;
/// The same for sessions and grants. Each copy of one that is forgotten costs a signed-in user a look-up, so they are
/// named as long as that does not flood the history.
const NAMED_SESSIONS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Journal(BTreeMap<Kind, Vec<Subject>>);

impl Journal {
    /// Notes that this may be different now.
    pub(crate) fn note(&mut self, subject: Subject) {
        let kind = subject.kind();
        let subjects = self.0.entry(kind).or_default();
        // One more than the limit is enough to know that it was passed.
        if subjects.len() <= named(kind) {
            subjects.push(subject);
        }
    }

    /// What was noted, kind by kind.
    pub(crate) fn into_subjects(self) -> Vec<Subject> {
        let subjects = self.0.into_iter().flat_map(|(kind, subjects)| {
            if subjects.len() <= named(kind) { subjects } else { vec![Subject::Many(kind)] }
        });
        subjects.collect()
    }
}

/// How many changes of a kind are named in one write.
pub(crate) const fn named(kind: Kind) -> usize {
    match kind {
        Kind::Session | Kind::Grant => NAMED_SESSIONS,
        Kind::Guild
        | Kind::Member
        | Kind::Subscription
        | Kind::Staff
        | Kind::Blocked
        | Kind::Feedback
        | Kind::Team
        | Kind::Cluster => NAMED,
    }
}
