//! The operations of the management API.

mod feed;
mod look_up;
mod people;
mod watch;

use super::{MANAGEMENT_KEY, errors, header, parameter::segment, pattern, public::request_id, server};
use crate::{error::ApiError, management::Endpoint, openapi::parameter::reference, wire::Snowflake};
use utoipa::openapi::{
    HttpMethod, PathsBuilder, Schema,
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
        Endpoint::Guild => {
            vec![(Get, look_up::guild()), (Put, feed::put_guild()), (Delete, feed::remove_guild())]
        }
        Endpoint::Member => {
            vec![(Get, look_up::member()), (Put, feed::put_member()), (Delete, feed::remove_member())]
        }
        Endpoint::Why => vec![(Get, look_up::why())],
        Endpoint::Plus => {
            vec![(Get, look_up::plus()), (Put, feed::put_plus()), (Delete, feed::remove_plus())]
        }
        Endpoint::Staff => {
            vec![(Get, look_up::staff()), (Put, feed::put_staff()), (Delete, feed::remove_staff())]
        }
        Endpoint::Team => vec![(Put, feed::put_team())],
        Endpoint::Feedback => {
            vec![(Get, look_up::feedback()), (Put, feed::put_feedback()), (Delete, feed::remove_feedback())]
        }
        Endpoint::Blocked => vec![(Get, look_up::blocked()), (Put, feed::block()), (Delete, feed::unblock())],
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

/// Says where it is.
fn at<const N: usize>(operation: OperationBuilder, place: [Parameter; N]) -> OperationBuilder {
    place.into_iter().fold(operation, OperationBuilder::parameter)
}

fn guild_segment() -> Parameter {
    segment("guild", "The guild's id.", reference::<Snowflake>())
}

fn feedback_segment() -> Parameter {
    segment("id", "The entry's id, which the bot chooses.", Schema::Object(header::text(pattern::SLUG)))
}

fn user_segment() -> Parameter {
    segment("user", "The user's id.", reference::<Snowflake>())
}
