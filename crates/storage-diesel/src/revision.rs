//! Revisions: the server timeline that each belongs to, and the newest one known to this node.
//!
//! A server that takes over from another may lack its last commits, and reuses their numbers for other changes. It also
//! starts a new timeline. To keep the two apart, every revision of a later timeline is higher than all revisions of an
//! earlier one. The history table itself, and an embedded database, count from one.

use companion_domain::change::Revision;
use tokio::sync::watch;

/// Bits for the changes of one timeline: a million changes per second for nine years.
const CHANGE_BITS: u32 = 48;
/// Number of timelines before they wrap around. With it, a revision still fits a signed 64-bit column.
const MAX_TIMELINES: i64 = 1 << 15;

/// Offset of revisions from the numbers in the history table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeline(u64);

impl Timeline {
    /// Returns the timeline for a server's timeline number. Servers count from one, which is also the
    /// timeline of an embedded database.
    pub(crate) const fn of_server(number: i64) -> Self {
        Self(number.saturating_sub(1).rem_euclid(MAX_TIMELINES).cast_unsigned() << CHANGE_BITS)
    }

    /// Returns the revision of a change number. Number 0, before the first change, is the same on all timelines.
    pub(crate) const fn revision(self, number: u64) -> Revision {
        Revision(if number == 0 { 0 } else { self.0.saturating_add(number) })
    }

    /// Returns the change number of a revision, or `None` if the revision is of an earlier timeline. A revision of a
    /// later timeline yields a number higher than any in use.
    pub(crate) const fn number(self, revision: Revision) -> Option<u64> {
        if revision.0 == 0 { Some(0) } else { revision.0.checked_sub(self.0) }
    }
}

/// SQL for the number of the server's timeline, or NULL on a standby: its timeline is that of another server, which it may
/// lag behind. Every role may run it. The number is the prefix of the current WAL file name, because the control file is only as recent as the last
/// checkpoint.
pub(crate) const TIMELINE: &str = "CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END";

/// The newest revision committed by this node or notified by another. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LatestRevision(watch::Sender<Revision>);

impl LatestRevision {
    /// Raises the newest revision, and wakes the tasks that wait for it.
    pub(crate) fn advance(&self, latest: Revision) {
        self.0.send_if_modified(|known| {
            let newer = latest > *known;
            *known = latest.max(*known);
            newer
        });
    }

    /// Sets the newest revision, even if a newer one was known: a server may have been restored to an earlier state.
    pub(crate) fn reset(&self, latest: Revision) {
        self.0.send_if_modified(|known| std::mem::replace(known, latest) != latest);
    }

    /// Waits until a revision newer than this one is known.
    pub(crate) async fn newer_than(&self, revision: Revision) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|latest| *latest > revision).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_a_revision_on_its_own_timeline_only() {
        let [first, second] = [1, 2].map(Timeline::of_server);
        assert_eq!((first.revision(7), first.number(Revision(7))), (Revision(7), Some(7)));
        assert!(second.revision(1) > first.revision(u64::MAX >> 17));
        assert_eq!(second.number(second.revision(7)), Some(7));
        assert_eq!(second.number(first.revision(7)), None);
        assert!(first.number(second.revision(7)).is_some_and(|number| number > 1 << 47));
        assert_eq!((second.revision(0), second.number(Revision(0))), (Revision(0), Some(0)));
    }

    #[test]
    fn revisions_of_all_timelines_fit_a_signed_column() {
        for number in [1, 2, 32_768, 32_769, i64::from(u32::MAX)] {
            let Revision(revision) = Timeline::of_server(number).revision((1 << 48) - 1);
            assert!(i64::try_from(revision).is_ok(), "{number}");
        }
    }
}
