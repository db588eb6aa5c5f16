//! The OpenAPI document of both APIs, assembled from the descriptions at the handlers.
//!
//! It omits HEAD and OPTIONS, which every path supports in the same way.

use crate::{
    access::Scope, change_stream, health, keyed_records::FED, people, reference, reports,
    resource::parameter, routes::routes, settings, sync, why,
};
use actix_web::{http::StatusCode, web::Bytes};
use companion_http::{
    PublicDocument,
    openapi::{complete, failure, operations_of},
};
use companion_records::{ClusterReport, MemberRecord, Record as _, schemas};
use std::sync::LazyLock;
use utoipa::{
    OpenApi as _,
    openapi::{
        Components, License, OpenApi, RefOr, Required, Server, ServerBuilder, ServerVariableBuilder,
        path::Operation,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

/// Tag of all operations on the management listener.
const MANAGEMENT: &str = "management";
/// Name of the security scheme of management keys.
const MANAGEMENT_KEY: &str = "ManagementKey";

const DESCRIPTION: &str = "Signs users of a chat platform in, lists the guilds they run that have the bot, and \
serves public data about the bot. Operations tagged `public` are on the public listener; those tagged `management`, for \
the bot and the operator, are on the management listener. The listeners share no path. Every response with a JSON body, \
except this document, is an envelope of `code`, `message` and `data`, and the HTTP status equals `code`. The `data` of \
an error has an error word and the request id. Every GET supports HEAD. OPTIONS responds with 204 and `Allow`, an \
unsupported method with 405 `method_not_allowed` and `Allow`, and an unknown path with 404 `not_found`.";

/// Operations that stand before those of keyed records.
#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        health::live,
        health::ready,
        health::show,
        change_stream::watch,
        settings::all,
        reference::document,
        reference::page
    ),
    tags(
        (name = "public", description = "For dashboards and websites, on the public listener."),
        (name = "management", description = "For the bot and the operator, on the management listener."),
        (name = "health", description = "Health and description of the service."),
        (name = "feed", description = "What the bot reports."),
        (name = "sessions", description = "Sessions and stored data of users."),
    )
)]
struct Service;

/// Operations that stand after them.
#[derive(utoipa::OpenApi)]
#[openapi(paths(
    why::explain,
    reports::put_team,
    reports::put_heartbeat,
    reports::sign_off,
    settings::show_schema,
    settings::publish,
    settings::show,
    settings::patch,
    settings::remove,
    settings::confirm,
    settings::history,
    sync::sync,
    people::list,
    people::sign_out,
    people::revoke,
    people::revoke_user,
    people::show,
    people::forget
))]
struct Others;

/// Returns the document as JSON, rendered once.
pub(crate) fn document() -> Result<Bytes, &'static str> {
    static RENDERED: LazyLock<Result<Bytes, String>> =
        LazyLock::new(|| openapi().to_json().map(Bytes::from).map_err(|error| error.to_string()));
    RENDERED.as_ref().cloned().map_err(String::as_str)
}

/// Returns the description of both APIs.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut keyed_records = OpenApi::default();
    FED.iter().for_each(|fed| (fed.describe)(&mut keyed_records));
    let mut others = Others::openapi();
    for (path, item) in &mut others.paths.paths {
        operations_of(item).for_each(|operation| add_key(path, operation));
    }
    let mut management = Service::openapi().merge_from(keyed_records).merge_from(others);
    let listener = server("The management listener.", "127.0.0.1:8081", "management.listen");
    for (path, item) in &mut management.paths.paths {
        let scope = routes().find(|(known, ..)| known == path).and_then(|(_, scope, _)| scope);
        operations_of(item).for_each(|operation| manage(operation, scope));
        item.servers = Some(vec![listener.clone()]);
    }
    management.components.get_or_insert_with(Components::default).schemas.extend(schemas());
    // If both describe a schema, such as ids, the management API's wins: it validates them as input, so it is exact.
    let mut document = management.merge_from(PublicDocument::openapi());
    document.paths.paths.sort_by_key(|_, path| path.servers.is_some());
    document.tags = Service::openapi().tags;
    document.servers = Some(vec![server("The public listener.", "127.0.0.1:8080", "http.listen")]);
    document.info.title = "Companion".to_owned();
    document.info.version = env!("CARGO_PKG_VERSION").to_owned();
    document.info.description = Some(DESCRIPTION.to_owned());
    let mut license = License::new(env!("CARGO_PKG_LICENSE"));
    license.identifier = Some(env!("CARGO_PKG_LICENSE").to_owned());
    document.info.license = Some(license);
    complete(&mut document, reference::DOCUMENT_PATH);
    // A sync may be empty, and of any length.
    let sync = document.paths.paths.get_mut("/bot/sync").and_then(|path| path.post.as_mut());
    if let Some(Operation { request_body: Some(RefOr::T(stream)), responses, .. }) = sync {
        stream.required = Some(Required::False);
        responses.responses.remove(StatusCode::PAYLOAD_TOO_LARGE.as_str());
    }
    let components = document.components.get_or_insert_with(Components::default);
    components.security_schemes.insert(MANAGEMENT_KEY.to_owned(), management_key().into());
    document
}

/// Describes the guild, the user or the cluster in the path of an operation, as the records with such keys do.
fn add_key(path: &str, operation: &mut Operation) {
    let mut parts = MemberRecord::key_parts();
    parts.extend(ClusterReport::key_parts());
    parts.retain(|part| path.contains(&format!("{{{}}}", part.parameter)));
    let parameters = parts.into_iter().map(|part| parameter(part).into());
    operation.parameters.get_or_insert_default().splice(0..0, parameters);
}

/// Adds what all operations of the management API share.
fn manage(operation: &mut Operation, scope: Option<Scope>) {
    operation.tags.get_or_insert_default().insert(0, MANAGEMENT.to_owned());
    if let Some(scope) = scope {
        let also = operation.security.take().and_then(|mut asked| asked.pop()).unwrap_or_default();
        operation.security = Some(vec![also.add(MANAGEMENT_KEY, [scope.name()])]);
        let about = operation.description.take().map(|about| about + "\n\n").unwrap_or_default();
        operation.description = Some(format!("{about}Needs a key with the scope `{}`.", scope.name()));
        failure::add_of_keys(&mut operation.responses);
    }
}

/// Describes a listener by its default address and the configuration key of that address.
fn server(description: &str, address: &str, key: &str) -> Server {
    let moved = format!("The listen address (`{key}`), or the host name of a proxy.");
    let variable = ServerVariableBuilder::new().default_value(address).description(Some(moved));
    ServerBuilder::new()
        .url("http://{address}")
        .description(Some(description))
        .parameter("address", variable)
        .build()
}

fn management_key() -> SecurityScheme {
    let description = "A key of `management.key`, which has every scope, or one of `management.keys` with the scope of the \
                       operation.";
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(description));
    SecurityScheme::Http(scheme.build())
}
