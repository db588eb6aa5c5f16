//! The numbers that readers know changes by. They say on which of the server's timelines a change was made.
//!
//! A server that takes over from another may lack the last commits of that one, and gives their numbers to other changes.
//! It also begins a new timeline. So that nobody takes one change for the other, revisions of the second timeline are
//! higher than all of the first, and so on. The history itself, and an embedded database, count from one.

use companion_domain::change::Revision;

/// So many changes fit into a timeline: a million a second, for nine years.
#[cfg(feature = "postgres")]
const BITS: u32 = 48;
/// Then they start over. With these a revision is still a positive number in a column.
#[cfg(feature = "postgres")]
const TIMELINES: i64 = 1 << 15;

/// By how much revisions are ahead of what the history counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline(u64);

impl Timeline {
    /// That of a database which nobody takes over from.
    #[cfg(feature = "sqlite")]
    pub(crate) const ONLY: Self = Self(0);

    /// A server's, as it numbers them: from one on.
    #[cfg(feature = "postgres")]
    pub(crate) const fn of_server(number: i64) -> Self {
        Self(number.saturating_sub(1).rem_euclid(TIMELINES).cast_unsigned() << BITS)
    }

    /// The revision of a change. Before the first all timelines are the same.
    pub(crate) const fn revision(self, number: u64) -> Revision {
        Revision(if number == 0 { 0 } else { self.0.saturating_add(number) })
    }

    /// What the history counts a revision as; nothing where it was made on an earlier timeline. One of a later timeline is
    /// higher than any.
    pub(crate) const fn number(self, revision: Revision) -> Option<u64> {
        if revision.0 == 0 { Some(0) } else { revision.0.checked_sub(self.0) }
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_known_on_its_own_timeline_only() {
        let [first, second] = [1, 2].map(Timeline::of_server);
        assert_eq!((first.revision(7), first.number(Revision(7))), (Revision(7), Some(7)));
        assert!(second.revision(1) > first.revision(u64::MAX >> 17));
        assert_eq!(second.number(second.revision(7)), Some(7));
        assert_eq!(second.number(first.revision(7)), None);
        assert!(first.number(second.revision(7)).is_some_and(|number| number > 1 << 47));
        assert_eq!((second.revision(0), second.number(Revision(0))), (Revision(0), Some(0)));
    }

    #[test]
    fn a_revision_fits_a_column_whatever_its_timeline() {
        for number in [1, 2, 32_768, 32_769, i64::from(u32::MAX)] {
            let Revision(revision) = Timeline::of_server(number).revision((1 << 48) - 1);
            assert!(i64::try_from(revision).is_ok(), "{number}");
        }
    }
}
