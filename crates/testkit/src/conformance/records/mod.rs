//! The contract of [`Records`](companion_domain::port::Records): single records of any kind, batches, streams, exports,
//! and the data of a user. What is written is also read through the other ports.

mod about;
mod atomicity;
mod batch;
mod common;
mod export;
mod forget;
mod given_up;
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
        what_is_told_of_a_user_is_what_forgetting_removes,
        nothing_is_told_of_someone_who_is_not_known,
        very_many_things_of_a_user_are_told,
        what_is_told_is_of_one_moment,
    }
    @atomicity {
        a_stream_that_fails_changes_nothing,
        an_unknown_guild_is_named_with_its_line_and_changes_nothing,
        a_sync_that_is_given_up_changes_nothing,
        readers_never_wait_for_a_sync_and_see_the_state_before,
        a_store_is_fit_and_takes_writes_while_a_sync_comes_in,
        readers_see_a_sync_whole_or_not_at_all,
        syncs_at_once_are_never_lost,
        replacing_syncs_at_once_leave_one_of_them_whole,
    }
    @batch {
        a_batch_is_applied_in_its_order,
        a_refused_batch_changes_nothing,
        a_member_may_come_with_its_guild,
        a_write_returns_the_changes_that_it_made,
        a_batch_given_up_is_made_whole_or_not_at_all,
    }
    @export {
        an_empty_store_gives_out_nothing,
        everything_comes_out_once,
        a_guild_comes_before_its_members,
        what_comes_out_makes_the_same_store_again,
        an_export_is_of_one_moment,
        who_cannot_take_an_export_hears_of_it,
        what_cannot_be_read_is_left_out_and_forgotten needs Damaging,
    }
    @forget {
        everything_of_a_forgotten_user_is_gone,
        nothing_of_others_is_forgotten,
        a_block_and_a_place_in_the_team_outlast_forgetting,
        forgetting_can_be_repeated,
        very_many_things_of_a_user_are_forgotten,
    }
    @given_up {
        a_write_that_is_given_up_is_made_whole_or_not_at_all,
        a_write_does_not_block_the_thread_that_polls_it needs Gating,
    }
    @keyed {
        what_was_never_put_is_not_found,
        a_put_replaces_all_and_counts_what_it_did,
        removing_can_be_repeated_and_counts_once,
        keys_are_kept_apart,
        text_is_kept_to_the_character,
        of_callers_at_once_one_adds_and_one_removes,
        puts_at_once_are_never_lost,
        very_many_records_are_kept,
        a_put_given_up_is_made_whole_or_not_at_all,
        a_put_does_not_block_the_thread_that_polls_it needs Gating,
        what_cannot_be_read_costs_no_other needs Damaging,
    }
    @members {
        a_member_of_an_unknown_guild_is_not_kept,
        a_guild_that_changes_keeps_its_members,
        a_guild_takes_its_members_along_for_good,
        members_put_while_their_guild_goes_go_with_it,
        very_many_members_go_with_their_guild,
    }
    @replace {
        what_is_left_out_stays_unless_its_kind_is_replaced,
        each_kind_is_replaced_alone,
        everything_can_be_replaced_at_once,
        a_guild_that_is_left_out_takes_its_members_along,
        a_shard_replaces_what_it_sees_and_nothing_else,
        a_shard_narrows_guilds_and_members_only,
        very_many_things_are_replaced,
    }
    @sync {
        an_empty_sync_changes_nothing,
        a_sync_brings_every_kind,
        records_come_in_any_order,
        of_records_with_one_key_the_last_counts,
        the_tally_counts_exactly_what_is_different,
        a_long_stream_comes_in_whole,
        an_imported_grant_goes_on_where_it_was,
    }
}
