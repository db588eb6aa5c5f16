//! The contract of a [`ChangeFeed`](companion_domain::port::ChangeFeed) about all writes.

mod history;
mod many;
mod writers;

use super::Stores;

suite! {
    /// Generates one test per behaviour of a `ChangeFeed`. It needs all storage ports.
    change_feed_conformance($): change_feed, Stores;
    @history {
        nothing_has_changed_at_first,
        a_change_is_listed_once_its_write_was_answered,
        changes_come_in_order_each_once,
        a_reader_can_start_anywhere,
        a_revision_that_nobody_knows_is_a_gap,
        who_follows_many_writers_misses_nothing,
        very_many_changes_are_listed_at_once,
    }
    @many {
        a_sync_tells_of_every_kind_it_changed,
        forgetting_tells_of_everything_that_went,
        a_write_of_very_many_tells_of_all,
        a_write_that_is_given_up_is_told_of_if_it_was_made,
    }
    @writers {
        guilds_and_members_are_told_of,
        subscriptions_staff_and_blocks_are_told_of,
        feedback_team_and_clusters_are_told_of,
        sessions_that_begin_and_end_are_told_of,
        using_a_session_is_no_change,
        grants_are_told_of,
        a_write_that_changes_nothing_is_no_change,
        a_refused_write_is_no_change,
    }
}
