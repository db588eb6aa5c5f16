//! The table of management paths and their scopes. Routing, metrics and the security of the OpenAPI document derive
//! from it; a test compares the document with it.

use crate::{
    access::Scope::{self, Feed, Metrics, People},
    change_stream, health, keyed_records, people, reference, reports,
    request::MinBodyLimit,
    settings, sync, why,
};
use actix_web::http::Method;
use companion_http::{
    routing::{Resource, reading, resource},
    settings::MAX_CHANGE_BYTES,
};
use companion_records::{ClusterReport, MAX_SCHEMA_BYTES, Team};

/// A path, the scope that a key needs there, and its resource. `None` means that no key is needed.
pub(crate) type Route = (&'static str, Option<Scope>, fn(&'static str) -> Resource);

/// Returns all routes. If two match a path, the first one wins.
pub(crate) fn routes() -> impl Iterator<Item = Route> {
    let fed = keyed_records::FED.iter().map(|fed| (fed.path, Some(Feed), fed.resource));
    fed.chain(OTHERS)
}

/// Routes other than keyed records.
const OTHERS: [Route; 21] = [
    ("/health/live", None, |path| reading(path, health::live)),
    ("/health/ready", None, |path| reading(path, health::ready)),
    ("/metrics", Some(Metrics), |path| reading(path, health::show)),
    (reference::DOCUMENT_PATH, None, |path| reading(path, reference::document)),
    (reference::PAGE_PATH, None, |path| reading(path, reference::page)),
    ("/bot/guilds/{guild}/why/{user}", Some(People), |path| reading(path, why::explain)),
    ("/bot/team", Some(Feed), |path| {
        resource(path).app_data(MinBodyLimit(Team::MAX_BYTES)).on(Method::PUT, reports::put_team)
    }),
    ("/bot/clusters/{cluster}/heartbeat", Some(Feed), |path| {
        resource(path)
            .app_data(MinBodyLimit(ClusterReport::MAX_BYTES))
            .on(Method::PUT, reports::put_heartbeat)
    }),
    ("/bot/clusters/{cluster}", Some(Feed), |path| resource(path).on(Method::DELETE, reports::sign_off)),
    ("/bot/settings", Some(Feed), |path| {
        resource(path)
            .app_data(MinBodyLimit(MAX_SCHEMA_BYTES))
            .on(Method::GET, settings::show_schema)
            .on(Method::PUT, settings::publish)
    }),
    ("/bot/settings/guilds", Some(Feed), |path| reading(path, settings::all)),
    ("/bot/guilds/{guild}/settings", Some(Feed), |path| {
        resource(path)
            .app_data(MinBodyLimit(MAX_CHANGE_BYTES))
            .on(Method::GET, settings::show)
            .on(Method::PATCH, settings::patch)
            .on(Method::DELETE, settings::remove)
    }),
    ("/bot/guilds/{guild}/settings/applied", Some(Feed), |path| {
        resource(path).app_data(MinBodyLimit(MAX_SCHEMA_BYTES)).on(Method::PUT, settings::confirm)
    }),
    ("/bot/guilds/{guild}/settings/history", Some(Feed), |path| reading(path, settings::history)),
    ("/bot/sync", Some(Feed), |path| resource(path).on(Method::POST, sync::sync)),
    ("/bot/changes", Some(Feed), |path| reading(path, change_stream::watch)),
    ("/sessions", Some(People), |path| reading(path, people::list)),
    ("/sessions/sign-out", Some(People), |path| resource(path).on(Method::POST, people::sign_out)),
    ("/sessions/{id}", Some(People), |path| resource(path).on(Method::DELETE, people::revoke)),
    ("/users/{user}/sessions", Some(People), |path| resource(path).on(Method::DELETE, people::revoke_user)),
    ("/users/{user}", Some(People), |path| {
        resource(path).on(Method::GET, people::show).on(Method::DELETE, people::forget)
    }),
];

/// Below this path no key is required, even where no route exists.
const OPEN_FOLDER: &str = "/health/";

/// Whether this request path needs no key. All other paths need one, even where no route exists.
pub(crate) fn is_open(path: &str) -> bool {
    path.starts_with(OPEN_FOLDER) || OTHERS.iter().any(|(known, scope, _)| scope.is_none() && *known == path)
}
