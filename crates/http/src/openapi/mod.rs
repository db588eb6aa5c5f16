//! The OpenAPI document, made from the shapes in `wire` and the table of errors.
//!
//! It describes the service as it comes: `DELETE /auth` is not in it, because it is switched off by default. HEAD and
//! OPTIONS go without saying, so they are not in it either.

mod errors;
mod header;
mod operations;
mod success;

use crate::{headers::name, wire};
use utoipa::{
    ToSchema,
    openapi::{
        Components, ComponentsBuilder, Info, InfoBuilder, License, OpenApi, OpenApiBuilder, RefOr, Schema,
        ServerBuilder,
        security::{ApiKey, ApiKeyValue, SecurityScheme},
    },
};

/// The name under which operations ask for a session token.
const TOKEN: &str = "Token";
/// The name under which operations ask for a code.
const IDP_CODE: &str = "IdpCode";
/// The type of every body.
const JSON: &str = "application/json";

const DESCRIPTION: &str = "Signs users of a chat platform in, lists the guilds they run that have the bot, and \
serves public data about the bot. Every answer with a body is an envelope of `code`, `message` and `data`, and the \
HTTP status equals `code`. An error's `data` has a word for programs and the request id. HEAD works wherever GET does, \
OPTIONS answers 204 with `Allow`, a method that a path does not have is 405 `method_not_allowed` with `Allow`, and a \
path that does not exist is 404 `not_found`.";

/// The description of the public API.
#[must_use]
pub fn openapi() -> OpenApi {
    OpenApiBuilder::new()
        .info(info())
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .paths(operations::paths())
        .components(Some(components()))
        .build()
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

/// The shapes that operations name, with all that these name in turn, by name.
fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let mut schemas = Vec::new();
    collect::<wire::Session<'_>>(&mut schemas);
    collect::<wire::Guild<'_>>(&mut schemas);
    collect::<wire::FeedbackEntry<'_>>(&mut schemas);
    collect::<wire::TeamMember<'_>>(&mut schemas);
    collect::<wire::Status<'_>>(&mut schemas);
    schemas
}

fn collect<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into(), T::schema()));
    T::schemas(schemas);
}
