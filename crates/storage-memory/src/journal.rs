//! The changes of one write.

use companion_domain::change::{Kind, Subject};
use std::collections::BTreeMap;

/// Maximum number of changes of one kind that a write names. More are summarised as [`Subject::Many`].
const MAX_NAMED: usize = 100;

/// Collects the changes of one write, until they are appended to the history.
///
/// A write that changes more than a hundred records of one kind, such as a sync, is summarised, and caches reload that
/// kind. Sessions and grants are always named, because invalidating all copies would cost each signed-in user a lookup.
#[derive(Default)]
pub(crate) struct Journal(BTreeMap<Kind, Vec<Subject>>);

impl Journal {
    /// Notes that the subject may have changed.
    pub(crate) fn note(&mut self, subject: Subject) {
        let kind = subject.kind();
        let subjects = self.0.entry(kind).or_default();
        if matches!(subject, Subject::Many(_)) && subjects.contains(&subject) {
            return;
        }
        // One more than the limit shows that it was exceeded.
        if always_named(kind) || subjects.len() <= MAX_NAMED {
            subjects.push(subject);
        }
    }

    /// Returns the noted subjects, grouped by kind.
    pub(crate) fn into_subjects(self) -> impl Iterator<Item = Subject> {
        self.0.into_iter().flat_map(|(kind, subjects)| {
            if always_named(kind) || subjects.len() <= MAX_NAMED {
                subjects
            } else {
                vec![Subject::Many(kind)]
            }
        })
    }
}

const fn always_named(kind: Kind) -> bool {
    matches!(kind, Kind::Session | Kind::Grant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{model::UserId, session::TokenHash};

    fn noted(subjects: impl Iterator<Item = Subject>) -> Vec<Subject> {
        let mut journal = Journal::default();
        subjects.for_each(|subject| journal.note(subject));
        journal.into_subjects().collect()
    }

    #[test]
    fn names_up_to_100_changes_of_a_kind_and_summarises_more() {
        let blocked = |count| (1..=count).map(|user| Subject::Blocked(UserId::new(user).unwrap()));
        assert_eq!(noted(blocked(100)), blocked(100).collect::<Vec<_>>());
        for count in [101, 102, 1000] {
            assert_eq!(
                noted(blocked(count).chain([Subject::Many(Kind::Team)])),
                [Subject::Many(Kind::Blocked), Subject::Many(Kind::Team)]
            );
        }
    }

    #[test]
    fn sessions_and_grants_are_always_named() {
        let sessions = || (0..=255).map(|byte| Subject::Session(TokenHash::from_bytes([byte; 32])));
        let grants = || (1..=300).map(|user| Subject::Grant(UserId::new(user).unwrap()));
        assert_eq!(noted(sessions().chain(grants())), sessions().chain(grants()).collect::<Vec<_>>());
    }
}
