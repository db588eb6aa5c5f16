//! The five operations.

use super::{
    IDP_CODE, TOKEN, errors, header,
    parameter::{credential, optional_header, plain_text, reference},
    success::{not_modified, success},
};
use crate::{error::ApiError, headers::name, public::Endpoint, wire};
use companion_domain::model::Roster;
use utoipa::openapi::{
    ArrayBuilder, HttpMethod, ObjectBuilder, PathItem, PathsBuilder, Schema, Type,
    path::{Operation, OperationBuilder, Parameter},
    security::SecurityRequirement,
};

/// The tag of these operations.
pub(super) const TAG: &str = "public";

/// Adds the paths of the public API.
pub(super) fn add(paths: PathsBuilder) -> PathsBuilder {
    let described = |paths: PathsBuilder, endpoint: Endpoint| {
        let (method, operation) = match endpoint {
            Endpoint::Status => (HttpMethod::Get, status()),
            Endpoint::Auth => (HttpMethod::Post, sign_in()),
            Endpoint::Guilds => (HttpMethod::Get, guilds()),
            Endpoint::Feedback => (HttpMethod::Get, feedback()),
            Endpoint::Team => (HttpMethod::Get, team()),
        };
        paths.path(endpoint.path(), PathItem::new(method, operation))
    };
    Endpoint::ALL.into_iter().fold(paths, described)
}

fn status() -> Operation {
    let sent = "When the request was sent, in seconds since 1970 with an optional fraction, for `latency.response`. \
                What cannot be read counts as not sent.";
    let operation = OperationBuilder::new()
        .operation_id(Some("getStatus"))
        .summary(Some("The status of the service and the bot"))
        .parameter(optional_header(name::SENT_EPOCH, sent, plain_text("1700000000.25")))
        .response("200", success("How both are.", reference::<wire::Status<'_>>(), "no-cache"));
    finish(operation, &errors::everywhere())
}

fn sign_in() -> Operation {
    let verifier = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[A-Za-z0-9._~-]{43,128}$"));
    let operation = OperationBuilder::new()
        .operation_id(Some("createSession"))
        .summary(Some("Exchange the identity provider's code for a session"))
        .description(Some(
            "A code opens one session, for the first who posts it. Pages may call this from configured origins only.",
        ))
        .security(SecurityRequirement::new(IDP_CODE, [""; 0]))
        .parameter(credential(name::IDP_CODE, "The identity provider's code, sent exactly once.", Schema::Object(header::text("^[!-~]{1,1024}$"))))
        .parameter(optional_header(
            name::IDP_CODE_VERIFIER,
            "The PKCE verifier, where the sign-in was begun with a challenge.",
            verifier.build(),
        ))
        .response("200", success("A new session.", reference::<wire::Session<'_>>(), "private, no-store"));
    finish(operation, &errors::of_sign_in())
}

fn guilds() -> Operation {
    let list = ArrayBuilder::new().items(reference::<wire::Guild<'_>>());
    let answer = success("The guilds, by role, name and id.", list, "private, no-store");
    let operation = OperationBuilder::new()
        .operation_id(Some("listGuilds"))
        .summary(Some("The guilds that the session's user runs and that have the bot"))
        .security(SecurityRequirement::new(TOKEN, [""; 0]))
        .parameter(credential(
            name::TOKEN,
            "The session token, sent exactly once.",
            reference::<wire::SessionToken<'_>>(),
        ))
        .response("200", header::with(answer, "Age"));
    finish(operation, &errors::of_guilds())
}

fn feedback() -> Operation {
    let list = ArrayBuilder::new().items(reference::<wire::FeedbackEntry<'_>>()).max_items(Some(5));
    let answer =
        success("Five entries rated 4 or 5 at random, or all where there are fewer.", list, "no-store");
    let operation = OperationBuilder::new()
        .operation_id(Some("pickFeedback"))
        .summary(Some("What people like about the bot"))
        .response("200", answer);
    finish(operation, &errors::everywhere())
}

fn team() -> Operation {
    let list = ArrayBuilder::new().items(reference::<wire::TeamMember<'_>>()).max_items(Some(Roster::MAX));
    let answer = success("The team, by category, position and name.", list, "max-age=60");
    let tag = "\"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU\"";
    let operation = OperationBuilder::new()
        .operation_id(Some("getTeam"))
        .summary(Some("The team that maintains the bot"))
        .parameter(optional_header(
            "If-None-Match",
            "Tags of the answers that the caller has, or `*`.",
            plain_text(tag),
        ))
        .response("200", header::with(answer, "ETag"))
        .response("304", not_modified("max-age=60"));
    finish(operation, &errors::everywhere())
}

fn finish(operation: OperationBuilder, errors: &[ApiError]) -> Operation {
    errors::with(operation.tag(TAG).parameter(request_id()), errors).build()
}

/// The header that every operation takes.
pub(super) fn request_id() -> Parameter {
    let description = "A name for the request: 1 to 64 characters out of A-Z, a-z, 0-9, `.`, `_` and `-`. Another is replaced.";
    optional_header(name::X_REQUEST_ID, description, plain_text("dashboard-42"))
}
