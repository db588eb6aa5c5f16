//! The contract of [`Records`](companion_domain::port::Records): single records of any kind, batches, streams, exports,
//! and the data of a user. What is written is also read through the other ports.

mod about;
mod atomicity;
mod batch;
mod cancelled;
mod common;
mod export;
mod forget;
mod keyed;
mod kinds;
mod members;
mod replace;
mod sync;

use super::Stores;

suite! {
    /// Generates one test per behaviour of `Records`. It needs all storage ports.
    records_conformance($): records, Stores;
    @about {
        about_returns_what_forget_removes,
        about_an_unknown_user_is_empty,
        about_returns_very_many_records,
        about_reads_one_snapshot,
    }
    @atomicity {
        a_failed_stream_changes_nothing,
        an_unknown_guild_is_reported_with_its_line,
        a_cancelled_sync_changes_nothing,
        readers_see_the_previous_state_during_a_sync,
        a_store_accepts_writes_during_a_sync,
        readers_never_see_a_partial_sync,
        concurrent_syncs_are_never_lost,
        concurrent_replacing_syncs_leave_one_complete,
    }
    @batch {
        a_batch_is_applied_in_order,
        a_refused_batch_changes_nothing,
        a_batch_may_contain_a_guild_and_its_member,
        a_write_returns_its_changes,
        a_cancelled_batch_is_complete_or_absent,
    }
    @export {
        an_empty_store_exports_nothing,
        exports_everything_once,
        exports_a_guild_before_its_members,
        an_export_recreates_the_store,
        an_export_reads_one_snapshot,
        a_failing_sink_fails_the_export,
        exports_leave_out_and_forget_removes_unreadable_values needs Damaging,
    }
    @forget {
        forget_removes_everything_of_a_user,
        forget_keeps_the_data_of_others,
        forget_keeps_blocks_and_team_memberships,
        forget_is_idempotent,
        forget_removes_very_many_records,
    }
    @cancelled {
        a_cancelled_write_is_complete_or_absent,
        a_write_does_not_block_the_polling_thread needs Gating,
    }
    @keyed {
        an_unknown_key_is_not_found,
        a_put_replaces_the_record_and_returns_its_tally,
        removal_is_idempotent_and_counted_once,
        keys_are_separate,
        text_is_stored_exactly,
        one_concurrent_caller_adds_and_one_removes,
        concurrent_puts_are_never_lost,
        stores_very_many_records,
        a_cancelled_put_is_whole_or_absent,
        a_put_does_not_block_the_polling_thread needs Gating,
        an_unreadable_record_affects_no_other needs Damaging,
    }
    @members {
        a_member_of_an_unknown_guild_is_refused,
        a_changed_guild_keeps_its_members,
        removing_a_guild_removes_its_members,
        members_put_during_a_guild_removal_are_removed,
        removes_very_many_members_with_their_guild,
    }
    @replace {
        omitted_records_stay_unless_their_kind_is_replaced,
        each_kind_is_replaced_alone,
        all_kinds_can_be_replaced_together,
        an_omitted_guild_is_removed_with_its_members,
        a_shard_replaces_only_its_own_guilds,
        a_shard_limits_only_guilds_and_members,
        replaces_very_many_records,
    }
    @sync {
        an_empty_sync_changes_nothing,
        a_sync_adds_every_kind,
        records_may_arrive_in_any_order,
        the_last_record_of_a_key_wins,
        the_tally_counts_exactly_the_differences,
        a_long_stream_is_stored_completely,
        an_imported_grant_keeps_its_version,
    }
}
