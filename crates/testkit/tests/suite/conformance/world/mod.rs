//! Wrong stores of all that the bot feeds: streams, exports, and what there is of a user.

mod records;
mod wrong;

use self::wrong::Wrong;
use crate::conformance::{
    proof::{faults, stores, with},
    text::Spoilt,
};
use companion_domain::{change::Kind, port::Stores};
use companion_testkit::{conformance::Fresh, over::Over};
use std::sync::{Arc, atomic::AtomicUsize};

faults! {
    enum Fault { BatchByBatch, TellsOthers, ExportsHundredOf(Kind), Text(Spoilt) }
    records(Fresh::new(Arc::new(stores())), wrong) {
        a_stream_that_fails_changes_nothing: [Fault::BatchByBatch] "a sync is applied batch by batch (half-applied)";
        readers_never_wait_for_a_sync_and_see_the_state_before: [Fault::BatchByBatch] "a sync shows before it is whole";
        a_sync_that_is_given_up_changes_nothing: [Fault::BatchByBatch] "a sync that is given up leaves a half";
        a_shard_replaces_what_it_sees_and_nothing_else: ShardForgotten "a shard replaces what others see";
        of_records_with_one_key_the_last_counts: FirstWins "the first record of a key counts";
        records_come_in_any_order: GuildsFirst "a member must come after its guild";
        an_unknown_guild_is_named_with_its_line_and_changes_nothing:
            LinesRecounted "lines are counted by the store",
            UnknownGuildSkipped "a member of an unknown guild is passed over";
        each_kind_is_replaced_alone:
            NothingTakenAway "replacing takes nothing away",
            TooMuchReplaced "what was not to be replaced goes too";
        what_comes_out_makes_the_same_store_again:
            ExportLosesTheLastBatch "an export loses its last batch",
            [Fault::ExportsHundredOf(Kind::Session)] "an export has a hundred sessions at most",
            [Fault::ExportsHundredOf(Kind::Grant)] "an export has a hundred grants at most",
            [Fault::ExportsHundredOf(Kind::Subscription)] "an export has a hundred subscriptions at most",
            [Fault::ExportsHundredOf(Kind::Staff)] "an export has a hundred staff grants at most",
            [Fault::ExportsHundredOf(Kind::Member)] "an export has a hundred members at most",
            [Fault::Text(Spoilt::Trimmed)] "a sync trims text",
            [Fault::Text(Spoilt::Composed)] "a sync puts accents together with their letters",
            [Fault::Text(Spoilt::Stripped)] "a sync drops control characters",
            [Fault::Text(Spoilt::Cut)] "a sync cuts text at 255 bytes",
            IdsIgnoreCase "a sync takes ids that differ in letters for the same";
        an_export_is_of_one_moment: ExportInTwoMoments "an export is read in two moments";
        a_guild_comes_before_its_members: ExportBackwards "members come before their guilds";
        everything_comes_out_once: ExportTwice "an export repeats itself";
        who_cannot_take_an_export_hears_of_it: ExportHidesFailure "a failing export claims to be whole";
        everything_of_a_forgotten_user_is_gone:
            ForgetLeavesFeedback "forgetting leaves feedback",
            ForgetLeavesSessions "forgetting leaves sessions";
        a_block_and_a_place_in_the_team_outlast_forgetting: ForgetUnblocks "forgetting lifts a block";
        a_store_is_fit_and_takes_writes_while_a_sync_comes_in:
            UnfitWhileBusy "a store that is busy is unfit",
            AskingIsAChange "asking how the store is counts as a change";
        nothing_of_others_is_forgotten: ForgetTakesOthers "forgetting takes someone else's things";
        what_is_told_of_a_user_is_what_forgetting_removes:
            TellsNoFeedback "what a user said is not told",
            TellsABlock "a block is told as the user's own",
            [Fault::TellsOthers] "everyone's things are told";
        nothing_is_told_of_someone_who_is_not_known:
            [Fault::TellsOthers] "of someone who is not known there is something to tell";
        very_many_things_of_a_user_are_told: TellsTenMemberships "ten memberships are told at most";
        what_is_told_is_of_one_moment: TellsInTwoMoments "one kind is told after the other";
        a_write_that_is_given_up_is_made_whole_or_not_at_all:
            KindByKind "a sync puts one kind in place after the other",
            ForgetsInSteps "forgetting that is given up has forgotten some";
        very_many_things_of_a_user_are_forgotten:
            ForgetsTenSessions "ten sessions are forgotten at most",
            ForgetsTenEntries "ten entries of feedback are forgotten at most",
            ForgetsTenMemberships "ten memberships are forgotten at most";
        very_many_things_are_replaced: TakesAwayHundred "a replacement takes a hundred away at most";
    }
}

fn wrong(fault: Fault) -> Fresh<Stores> {
    let syncs = Arc::<AtomicUsize>::default();
    with(|stores| {
        let wrong = || Wrong { stores: stores.clone(), fault, syncs: Arc::clone(&syncs) };
        let (records, health) = (Over(wrong()), wrong());
        stores.records = Arc::new(records);
        stores.health = Arc::new(health);
    })
}
