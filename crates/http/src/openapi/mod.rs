//! The OpenAPI document, made from the shapes in `wire` and the table of errors.
//!
//! It describes the service as it comes: `DELETE /auth` is not in it, because it is switched off by default. HEAD and
//! OPTIONS go without saying, so they are not in it either.

mod errors;
mod header;
mod management;
mod parameter;
mod public;
mod success;

pub(crate) use self::errors::of_sign_in as errors_of_sign_in;

use crate::{envelope::FieldProblem, headers::name, wire};
use companion_records::{
    BlockedRecord, ClusterReport, FeedbackRecord, GuildRecord, MemberRecord, StaffRecord, SubscriptionRecord,
    SyncLine, Team,
};
use utoipa::{
    ToSchema,
    openapi::{
        Components, ComponentsBuilder, Info, InfoBuilder, License, OpenApi, OpenApiBuilder, PathsBuilder,
        RefOr, Schema, Server, ServerBuilder, ServerVariableBuilder,
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
        tag::{Tag, TagBuilder},
    },
};

/// The name under which operations ask for a session token.
const TOKEN: &str = "Token";
/// The name under which operations ask for a code.
const IDP_CODE: &str = "IdpCode";
/// The name under which operations ask for the management key.
const MANAGEMENT_KEY: &str = "ManagementKey";
/// The type of nearly every body.
const JSON: &str = "application/json";

const DESCRIPTION: &str = "Signs users of a chat platform in, lists the guilds they run that have the bot, and \
serves public data about the bot. Operations tagged `public` are on the public listener; those tagged `management`, for \
the bot and the operator, are on a listener of their own, and no path of one is on the other. Every answer with a JSON body, but for this document, is an envelope of `code`, `message` and `data`, and the \
HTTP status equals `code`. An error's `data` has a word for programs and the request id. HEAD works wherever GET does, \
OPTIONS answers 204 with `Allow`, a method that a path does not have is 405 `method_not_allowed` with `Allow`, and a \
path that does not exist is 404 `not_found`.";

/// The description of both APIs.
#[must_use]
pub fn openapi() -> OpenApi {
    OpenApiBuilder::new()
        .info(info())
        .servers(Some([server("The public listener.", "127.0.0.1:8080", "http.listen")]))
        .tags(Some(tags()))
        .paths(management::add(public::add(PathsBuilder::new())).build())
        .components(Some(components()))
        .build()
}

/// A listener, by its default address and the key that moves it.
fn server(description: &str, address: &str, key: &str) -> Server {
    let moved = format!("Where it listens (`{key}`), or the name that a proxy gives it.");
    let variable = ServerVariableBuilder::new().default_value(address).description(Some(moved));
    ServerBuilder::new()
        .url("http://{address}")
        .description(Some(description))
        .parameter("address", variable)
        .build()
}

fn tags() -> [Tag; 5] {
    let tag =
        |name: &str, description: &str| TagBuilder::new().name(name).description(Some(description)).build();
    [
        tag(public::TAG, "For dashboards and websites, on the public listener."),
        tag(management::TAG, "For the bot and the operator, on the management listener."),
        tag(management::WATCH, "How the service is, and what it is."),
        tag(management::FEED, "What the bot reports."),
        tag(management::PEOPLE, "Sessions and the people behind them."),
    ]
}

fn info() -> Info {
    let mut license = License::new(env!("CARGO_PKG_LICENSE"));
    license.identifier = Some(env!("CARGO_PKG_LICENSE").to_owned());
    InfoBuilder::new()
        .title("Companion")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license))
        .build()
}

fn components() -> Components {
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas())
        .schemas_from_iter(errors::schemas())
        .responses_from_iter(errors::elsewhere())
        .security_scheme(TOKEN, header_key(name::TOKEN, "The session token that `POST /auth` gave."))
        .security_scheme(MANAGEMENT_KEY, management_key())
        .security_scheme(
            IDP_CODE,
            header_key(name::IDP_CODE, "The code that the identity provider gave the user."),
        );
    header::all()
        .into_iter()
        .fold(components, |components, (name, header)| components.header(name, header))
        .build()
}

fn header_key(header: &str, description: &str) -> SecurityScheme {
    SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::with_description(header, description)))
}

fn management_key() -> SecurityScheme {
    let description = "One of the keys in `management.key`.";
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description));
    SecurityScheme::Http(scheme.build())
}

/// The shapes that operations name, with all that these name in turn, by name.
fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let mut schemas = Vec::new();
    collect::<wire::Session<'_>>(&mut schemas);
    collect::<wire::Guild<'_>>(&mut schemas);
    collect::<wire::FeedbackEntry<'_>>(&mut schemas);
    collect::<wire::TeamMember<'_>>(&mut schemas);
    collect::<wire::Status<'_>>(&mut schemas);
    collect::<wire::Changes>(&mut schemas);
    collect::<wire::SessionRecord>(&mut schemas);
    collect::<wire::Explanation<'_>>(&mut schemas);
    collect::<FieldProblem<'_>>(&mut schemas);
    // Among these is the exact form of ids, which counts.
    collect::<GuildRecord>(&mut schemas);
    collect::<MemberRecord>(&mut schemas);
    collect::<SubscriptionRecord>(&mut schemas);
    collect::<StaffRecord>(&mut schemas);
    collect::<FeedbackRecord>(&mut schemas);
    collect::<BlockedRecord>(&mut schemas);
    collect::<Team>(&mut schemas);
    collect::<ClusterReport>(&mut schemas);
    collect::<SyncLine>(&mut schemas);
    schemas
}

fn collect<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into(), T::schema()));
    T::schemas(schemas);
}
