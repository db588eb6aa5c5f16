//! The operations of the management API.

mod feed;
mod people;
mod watch;

use super::{MANAGEMENT_KEY, errors, parameter::segment, public::request_id, server};
use crate::{error::ApiError, management::Endpoint, openapi::parameter::reference, wire::Snowflake};
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, Record, StaffRecord, SubscriptionRecord,
};
use utoipa::openapi::{
    HttpMethod, PathsBuilder,
    path::{Operation, OperationBuilder, Parameter, PathItemBuilder},
    security::SecurityRequirement,
};

/// The tag of these operations.
pub(super) const TAG: &str = "management";
/// The tag of those that watch.
pub(super) const WATCH: &str = "health";
/// The tag of those that feed.
pub(super) const FEED: &str = "feed";
/// The tag of those about sessions and people.
pub(super) const PEOPLE: &str = "sessions";

/// Adds the paths of the management API.
pub(super) fn add(paths: PathsBuilder) -> PathsBuilder {
    let described = |paths: PathsBuilder, endpoint: Endpoint| {
        let server = server("The management listener.", "127.0.0.1:8081", "management.listen");
        let item = PathItemBuilder::new().servers(Some([server]));
        let item = operations(endpoint)
            .into_iter()
            .fold(item, |item, (method, operation)| item.operation(method, operation));
        paths.path(endpoint.path(), item.build())
    };
    Endpoint::ALL.into_iter().fold(paths, described)
}

fn operations(endpoint: Endpoint) -> Vec<(HttpMethod, Operation)> {
    use HttpMethod::{Delete, Get, Post, Put};
    match endpoint {
        Endpoint::Live => vec![(Get, watch::live())],
        Endpoint::Ready => vec![(Get, watch::ready())],
        Endpoint::Metrics => vec![(Get, watch::metrics())],
        Endpoint::Document => vec![(Get, watch::document())],
        Endpoint::Reference => vec![(Get, watch::reference_page())],
        Endpoint::Guild => feed::kept::<GuildRecord>([
            ("getGuild", "Look a guild up"),
            ("putGuild", "Report a guild that has the bot"),
            ("removeGuild", "The bot has left a guild"),
        ]),
        Endpoint::Member => feed::kept::<MemberRecord>([
            ("getMember", "Look the roles of a member up"),
            ("putMember", "Report the roles of a member"),
            ("removeMember", "A member has left, or has no roles"),
        ]),
        Endpoint::Why => vec![(Get, feed::why())],
        Endpoint::Plus => feed::kept::<SubscriptionRecord>([
            ("getPlus", "Look a user's subscription up"),
            ("putPlus", "Report a user's subscription"),
            ("removePlus", "A subscription has ended"),
        ]),
        Endpoint::Staff => feed::kept::<StaffRecord>([
            ("getStaff", "Look up what a user is granted by name"),
            ("putStaff", "Grant permissions by name"),
            ("removeStaff", "Take back what was granted by name"),
        ]),
        Endpoint::Team => vec![(Put, feed::put_team())],
        Endpoint::Feedback => feed::kept::<FeedbackRecord>([
            ("getFeedback", "Look feedback up"),
            ("putFeedback", "Report feedback"),
            ("removeFeedback", "Take feedback back"),
        ]),
        Endpoint::Blocked => feed::kept::<BlockedRecord>([
            ("isBlocked", "Whether a user is blocked"),
            ("block", "Block a user"),
            ("unblock", "Let a user in again"),
        ]),
        Endpoint::Heartbeat => vec![(Put, feed::heartbeat())],
        Endpoint::Sync => vec![(Post, feed::sync())],
        Endpoint::Sessions => vec![(Get, people::list())],
        Endpoint::SignOut => vec![(Post, people::sign_out())],
        Endpoint::Session => vec![(Delete, people::revoke())],
        Endpoint::UserSessions => vec![(Delete, people::revoke_user())],
        Endpoint::User => vec![(Delete, people::forget())],
    }
}

/// An operation with this id and this summary.
fn operation(tag: &str, id: &str, summary: &str) -> OperationBuilder {
    OperationBuilder::new().tag(TAG).tag(tag).operation_id(Some(id)).summary(Some(summary))
}

/// Adds what every operation has.
fn finish(operation: OperationBuilder, errors: &[ApiError]) -> Operation {
    errors::with(operation.parameter(request_id()), errors).build()
}

/// The same for operations that ask for the key.
fn finish_locked(operation: OperationBuilder, errors: &[ApiError]) -> Operation {
    finish(operation.security(SecurityRequirement::new(MANAGEMENT_KEY, [""; 0])), errors)
}

/// Says where records of this kind are.
fn under_key<R: Record>(operation: OperationBuilder) -> OperationBuilder {
    let parts = R::key_parts().into_iter();
    parts.fold(operation, |operation, part| {
        operation.parameter(segment(part.parameter, part.description, part.schema))
    })
}

fn user_segment() -> Parameter {
    segment("user", "The user's id.", reference::<Snowflake>())
}
