//! The contract of [`Records`](companion_domain::port::Records): single records of any kind, batches, streams, exports,
//! and the data of a user. What is written is also read through the other ports.

mod common;
mod export;
mod keyed;
mod kinds;
mod sync;
mod user;
mod writes;

pub(super) use self::{
    common::{put_all, replacing},
    kinds::{KEYED, is_of, two_of_each},
};

use super::Stores;

suite! {
    /// Generates one test per behaviour of `Records`. It needs all storage ports.
    records_conformance($): records, Stores;
    @export {
        an_export_recreates_the_store,
        an_export_reads_one_snapshot,
        a_failing_sink_fails_the_export,
        exports_leave_out_and_forget_removes_unreadable_values,
    }
    @keyed {
        a_write_replaces_or_removes_one_record_and_returns_its_tally,
        keys_are_separate_and_text_is_stored_exactly,
        concurrent_callers_add_and_remove_each_record_once,
        an_unreadable_record_affects_no_other,
    }
    @sync {
        a_sync_adds_every_kind_in_any_order,
        the_last_record_of_a_key_wins_and_the_tally_is_exact,
        an_imported_grant_keeps_its_version,
        each_kind_is_replaced_alone,
        a_shard_replaces_only_its_own_guilds,
        replaces_very_many_records,
        a_failed_stream_changes_nothing,
        readers_and_writers_proceed_during_a_sync,
        concurrent_replacing_syncs_leave_one_complete,
    }
    @user {
        about_returns_what_forget_removes,
        about_reads_one_snapshot,
    }
    @writes {
        a_batch_is_applied_in_order,
        a_refused_batch_changes_nothing,
        a_cancelled_write_is_complete_or_absent,
        a_cancelled_put_is_complete_or_absent,
        a_write_does_not_block_the_polling_thread,
        removing_a_guild_removes_its_members,
        members_put_during_a_guild_removal_are_removed,
    }
}
