//! The contract of a [`ChangeFeed`](companion_domain::port::ChangeFeed) about all writes.

mod history;
mod many;
mod writers;

use super::Stores;

suite! {
    /// Generates one test per behaviour of a `ChangeFeed`. It needs all storage ports.
    change_feed_conformance($): change_feed, Stores;
    @history {
        a_new_store_has_no_changes,
        a_change_is_listed_when_its_write_returns,
        changes_are_listed_once_and_in_order,
        a_reader_can_start_anywhere,
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
        lists_changes_of_guilds_and_members,
        lists_changes_of_subscriptions_staff_and_blocks,
        lists_changes_of_feedback_team_and_clusters,
        lists_created_and_ended_sessions,
        using_a_session_is_no_change,
        lists_changes_of_grants,
        a_write_that_changes_nothing_is_no_change,
        a_refused_write_is_no_change,
    }
}
