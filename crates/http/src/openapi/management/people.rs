//! Sessions and the people behind them.

use super::{MANAGEMENT_KEY, PEOPLE, finish, finish_locked, operation, user_segment};
use crate::{
    headers::name,
    openapi::{
        TOKEN, errors,
        parameter::{credential, query, reference, segment},
        success::success,
    },
    wire,
};
use companion_domain::session::TokenHash;
use companion_records::Format;
use utoipa::openapi::{
    ArrayBuilder, Required, ResponseBuilder, path::Operation, security::SecurityRequirement,
};

pub(super) fn list() -> Operation {
    let list = ArrayBuilder::new().items(reference::<wire::SessionRecord>());
    let user = query("user", "Whose sessions.", reference::<wire::Snowflake>());
    let operation = operation(PEOPLE, "listSessions", "The live sessions of a user")
        .parameter(user.required(Required::True))
        .response("200", success("The sessions, the oldest first.", list, "no-store"));
    finish_locked(operation, &errors::of_input())
}

pub(super) fn sign_out() -> Operation {
    let both = SecurityRequirement::new(MANAGEMENT_KEY, [""; 0]).add(TOKEN, [""; 0]);
    let operation = operation(PEOPLE, "signOut", "End the session of a token")
        .description(Some(
            "For a dashboard's backend. With a user's last session the platform's grant ends too.",
        ))
        .security(both)
        .parameter(credential(
            name::TOKEN,
            "The session token, sent exactly once.",
            reference::<wire::SessionToken<'_>>(),
        ))
        .response("200", changes("The session has ended."));
    finish(operation, &errors::of_sign_out())
}

pub(super) fn revoke() -> Operation {
    let id = segment("id", "The session's id, as the list has it.", <TokenHash as Format>::schema());
    let operation = operation(PEOPLE, "revokeSession", "End a session")
        .parameter(id)
        .response("200", changes("The session has ended, or was not there."));
    finish_locked(operation, &errors::of_input())
}

pub(super) fn revoke_user() -> Operation {
    let operation = operation(PEOPLE, "revokeSessions", "End all sessions of a user")
        .parameter(user_segment())
        .response("200", changes("No session is left."));
    finish_locked(operation, &errors::of_input())
}

pub(super) fn forget() -> Operation {
    let operation = operation(PEOPLE, "forgetUser", "Forget a user")
        .description(Some(
            "Removes sessions, grant, member roles, staff grants, subscription and feedback. A block stays, and so does \
             a place in the team.",
        ))
        .parameter(user_segment())
        .response("200", changes("Nothing of that is left."));
    finish_locked(operation, &errors::of_input())
}

/// An answer that says what changed.
pub(super) fn changes(description: &str) -> ResponseBuilder {
    success(description, reference::<wire::Changes>(), "no-store")
}
