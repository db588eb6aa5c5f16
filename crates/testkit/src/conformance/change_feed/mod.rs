//! The contract of a [`ChangeFeed`](companion_domain::port::ChangeFeed) about all writes.

mod history;
mod many;
mod writers;

pub(super) use self::history::subjects_of;

use super::Stores;

suite! {
    /// Generates one test per behaviour of a `ChangeFeed`. It needs all storage ports.
    change_feed_conformance($): change_feed, Stores;
    @history {
        changes_are_listed_once_in_order_from_any_revision,
        an_unknown_revision_is_a_gap,
        a_follower_of_many_writers_misses_no_change,
        lists_very_many_changes,
    }
    @many {
        a_sync_lists_every_kind_it_changed,
        forgetting_lists_everything_it_removed,
        a_bulk_write_lists_all_changes,
        a_cancelled_write_is_listed_if_it_was_applied,
    }
    @writers {
        lists_changes_of_records_once,
        lists_created_and_ended_sessions,
        lists_changes_of_grants,
        a_refused_write_is_no_change,
    }
}
