//! What is stored of the bot's reports, and what follows from it.

use super::{FEED, at, feedback_segment, finish_locked, guild_segment, operation, user_segment};
use crate::{
    error::ApiError,
    openapi::{
        errors,
        parameter::reference,
        success::{closed_object, success},
    },
    wire,
};
use utoipa::openapi::{
    RefOr, Schema,
    path::{Operation, Parameter},
};

pub(super) fn guild() -> Operation {
    let shape = reference::<wire::StoredGuild<'_>>();
    look_up("getGuild", "Look a guild up", shape, &errors::of_look_up(), [guild_segment()])
}

pub(super) fn member() -> Operation {
    let place = [guild_segment(), user_segment()];
    let shape = reference::<wire::StoredMember>();
    look_up("getMember", "Look the roles of a member up", shape, &errors::of_member(), place)
}

pub(super) fn why() -> Operation {
    let answer = success("The explanation.", reference::<wire::Explanation<'_>>(), "no-store");
    let operation =
        operation(FEED, "explainGuild", "What a user is shown of a guild, and why")
            .description(Some(
                "By what is stored: the platform is not asked. Users and guilds that nothing is known of are explained \
                 too.",
            ))
            .response("200", answer);
    finish_locked(at(operation, [guild_segment(), user_segment()]), &errors::of_input())
}

pub(super) fn plus() -> Operation {
    let shape = reference::<wire::StoredPlus>();
    look_up("getPlus", "Look a user's subscription up", shape, &errors::of_look_up(), [user_segment()])
}

pub(super) fn staff() -> Operation {
    let summary = "Look up what a user is granted by name";
    let shape = reference::<wire::StoredStaff>();
    look_up("getStaff", summary, shape, &errors::of_look_up(), [user_segment()])
}

pub(super) fn feedback() -> Operation {
    let shape = reference::<wire::StoredFeedback<'_>>();
    look_up("getFeedback", "Look feedback up", shape, &errors::of_look_up(), [feedback_segment()])
}

pub(super) fn blocked() -> Operation {
    let answer = success("The user is blocked.", Schema::Object(closed_object().build()), "no-store");
    let operation = operation(FEED, "isBlocked", "Whether a user is blocked")
        .parameter(user_segment())
        .response("200", answer);
    finish_locked(operation, &errors::of_look_up())
}

fn look_up<const N: usize>(
    id: &str,
    summary: &str,
    shape: RefOr<Schema>,
    errors: &[ApiError],
    place: [Parameter; N],
) -> Operation {
    let operation = at(operation(FEED, id, summary), place)
        .description(Some("In the fields that a PUT takes, so that the answer can be put back."))
        .response("200", success("What is stored.", shape, "no-store"));
    finish_locked(operation, errors)
}
