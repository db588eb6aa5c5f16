//! Wrong stores of all that the bot feeds: streams, exports, and what there is of a user.

mod records;
mod wrong;

use self::wrong::Wrong;
use crate::conformance::{
    proof::{Proof, Workshop, stores, with},
    text::Spoilt,
};
use companion_domain::change::Kind;
use companion_testkit::{
    conformance::{Fresh, records::SUITE},
    over::Over,
};
use std::sync::{Arc, atomic::AtomicUsize};

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    BatchByBatch,
    ShardForgotten,
    FirstWins,
    GuildsFirst,
    LinesRecounted,
    NothingTakenAway,
    UnknownGuildSkipped,
    TooMuchReplaced,
    ExportLosesTheLastBatch,
    ExportInTwoMoments,
    ExportBackwards,
    ExportTwice,
    ExportHidesFailure,
    ForgetLeavesFeedback,
    ForgetLeavesSessions,
    ForgetUnblocks,
    ForgetTakesOthers,
    UnfitWhileBusy,
    AskingIsAChange,
    TellsNoFeedback,
    TellsABlock,
    TellsOthers,
    TellsTenMemberships,
    TellsInTwoMoments,
    KindByKind,
    ForgetsInSteps,
    ForgetsTenSessions,
    ForgetsTenEntries,
    ForgetsTenMemberships,
    ExportsHundredOf(Kind),
    TakesAwayHundred,
    Text(Spoilt),
    IdsIgnoreCase,
}

pub(crate) fn proofs() -> Vec<Proof> {
    use Fault as F;
    let workshop = Workshop {
        suite: "records",
        behaviours: SUITE,
        sound: || Fresh::new(Arc::new(stores())),
        wrong: |fault| {
            let syncs = Arc::<AtomicUsize>::default();
            with(|stores| {
                let wrong = || Wrong { stores: stores.clone(), fault, syncs: Arc::clone(&syncs) };
                let (records, health) = (Over(wrong()), wrong());
                stores.records = Arc::new(records);
                stores.health = Arc::new(health);
            })
        },
    };
    workshop.proofs(&[
        (
            F::BatchByBatch,
            "a sync is applied batch by batch (half-applied)",
            "a_stream_that_fails_changes_nothing",
        ),
        (
            F::BatchByBatch,
            "a sync shows before it is whole",
            "readers_never_wait_for_a_sync_and_see_the_state_before",
        ),
        (F::BatchByBatch, "a sync that is given up leaves a half", "a_sync_that_is_given_up_changes_nothing"),
        (
            F::ShardForgotten,
            "a shard replaces what others see",
            "a_shard_replaces_what_it_sees_and_nothing_else",
        ),
        (F::FirstWins, "the first record of a key counts", "of_records_with_one_key_the_last_counts"),
        (F::GuildsFirst, "a member must come after its guild", "records_come_in_any_order"),
        (
            F::LinesRecounted,
            "lines are counted by the store",
            "an_unknown_guild_is_named_with_its_line_and_changes_nothing",
        ),
        (F::NothingTakenAway, "replacing takes nothing away", "each_kind_is_replaced_alone"),
        (
            F::UnknownGuildSkipped,
            "a member of an unknown guild is passed over",
            "an_unknown_guild_is_named_with_its_line_and_changes_nothing",
        ),
        (F::TooMuchReplaced, "what was not to be replaced goes too", "each_kind_is_replaced_alone"),
        (
            F::ExportLosesTheLastBatch,
            "an export loses its last batch",
            "what_comes_out_makes_the_same_store_again",
        ),
        (F::ExportInTwoMoments, "an export is read in two moments", "an_export_is_of_one_moment"),
        (F::ExportBackwards, "members come before their guilds", "a_guild_comes_before_its_members"),
        (F::ExportTwice, "an export repeats itself", "everything_comes_out_once"),
        (
            F::ExportHidesFailure,
            "a failing export claims to be whole",
            "who_cannot_take_an_export_hears_of_it",
        ),
        (F::ForgetLeavesFeedback, "forgetting leaves feedback", "everything_of_a_forgotten_user_is_gone"),
        (F::ForgetLeavesSessions, "forgetting leaves sessions", "everything_of_a_forgotten_user_is_gone"),
        (F::ForgetUnblocks, "forgetting lifts a block", "a_block_and_a_place_in_the_team_outlast_forgetting"),
        (
            F::UnfitWhileBusy,
            "a store that is busy is unfit",
            "a_store_is_fit_and_takes_writes_while_a_sync_comes_in",
        ),
        (F::ForgetTakesOthers, "forgetting takes someone else's things", "nothing_of_others_is_forgotten"),
        (
            F::AskingIsAChange,
            "asking how the store is counts as a change",
            "a_store_is_fit_and_takes_writes_while_a_sync_comes_in",
        ),
        (
            F::TellsNoFeedback,
            "what a user said is not told",
            "what_is_told_of_a_user_is_what_forgetting_removes",
        ),
        (
            F::TellsABlock,
            "a block is told as the user's own",
            "what_is_told_of_a_user_is_what_forgetting_removes",
        ),
        (F::TellsOthers, "everyone's things are told", "what_is_told_of_a_user_is_what_forgetting_removes"),
        (
            F::TellsOthers,
            "of someone who is not known there is something to tell",
            "nothing_is_told_of_someone_who_is_not_known",
        ),
        (F::TellsTenMemberships, "ten memberships are told at most", "very_many_things_of_a_user_are_told"),
        (F::TellsInTwoMoments, "one kind is told after the other", "what_is_told_is_of_one_moment"),
        (
            F::KindByKind,
            "a sync puts one kind in place after the other",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::ForgetsInSteps,
            "forgetting that is given up has forgotten some",
            "a_write_that_is_given_up_is_made_whole_or_not_at_all",
        ),
        (
            F::ForgetsTenSessions,
            "ten sessions are forgotten at most",
            "very_many_things_of_a_user_are_forgotten",
        ),
        (
            F::ForgetsTenEntries,
            "ten entries of feedback are forgotten at most",
            "very_many_things_of_a_user_are_forgotten",
        ),
        (
            F::ForgetsTenMemberships,
            "ten memberships are forgotten at most",
            "very_many_things_of_a_user_are_forgotten",
        ),
        (
            F::ExportsHundredOf(Kind::Session),
            "an export has a hundred sessions at most",
            "what_comes_out_makes_the_same_store_again",
        ),
        (
            F::ExportsHundredOf(Kind::Grant),
            "an export has a hundred grants at most",
            "what_comes_out_makes_the_same_store_again",
        ),
        (
            F::ExportsHundredOf(Kind::Subscription),
            "an export has a hundred subscriptions at most",
            "what_comes_out_makes_the_same_store_again",
        ),
        (
            F::ExportsHundredOf(Kind::Staff),
            "an export has a hundred staff grants at most",
            "what_comes_out_makes_the_same_store_again",
        ),
        (
            F::ExportsHundredOf(Kind::Member),
            "an export has a hundred members at most",
            "what_comes_out_makes_the_same_store_again",
        ),
        (F::TakesAwayHundred, "a replacement takes a hundred away at most", "very_many_things_are_replaced"),
        (F::Text(Spoilt::Trimmed), "a sync trims text", "what_comes_out_makes_the_same_store_again"),
        (
            F::Text(Spoilt::Composed),
            "a sync puts accents together with their letters",
            "what_comes_out_makes_the_same_store_again",
        ),
        (
            F::Text(Spoilt::Stripped),
            "a sync drops control characters",
            "what_comes_out_makes_the_same_store_again",
        ),
        (F::Text(Spoilt::Cut), "a sync cuts text at 255 bytes", "what_comes_out_makes_the_same_store_again"),
        (
            F::IdsIgnoreCase,
            "a sync takes ids that differ in letters for the same",
            "what_comes_out_makes_the_same_store_again",
        ),
    ])
}
