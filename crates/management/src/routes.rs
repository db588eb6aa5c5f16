//! The table of management paths, and which scope each of them needs. The routes, the metrics and what the document says of keys
//! are made from it, and a test compares the document with it.

use crate::{
    access::Scope::{self, Feed, Metrics, People},
    change_stream, clusters, health, keyed_records, reference, sessions, sync, team, users, why,
};
use actix_web::Resource;
use companion_http::routing::reading;

/// A path, the scope that a key needs there, and what answers. Without a scope everyone may look there.
pub(crate) type Route = (&'static str, Option<Scope>, fn(&'static str) -> Resource);

/// All of them. Of two that match the same path the first one answers.
pub(crate) fn routes() -> impl Iterator<Item = Route> {
    let fed = keyed_records::FED.into_iter().map(|fed| (fed.path, Some(Feed), fed.resource));
    fed.chain(OTHERS)
}

/// Those that are no records under a key.
const OTHERS: [Route; 15] = [
    ("/health/live", None, |path| reading(path, health::live)),
    ("/health/ready", None, |path| reading(path, health::ready)),
    ("/metrics", Some(Metrics), |path| reading(path, health::show)),
    (reference::DOCUMENT_PATH, None, |path| reading(path, reference::document)),
    (reference::PAGE_PATH, None, |path| reading(path, reference::page)),
    ("/bot/guilds/{guild}/why/{user}", Some(People), |path| reading(path, why::explain)),
    ("/bot/team", Some(Feed), team::resource),
    ("/bot/clusters/{cluster}/heartbeat", Some(Feed), clusters::resource),
    ("/bot/sync", Some(Feed), sync::resource),
    ("/bot/changes", Some(Feed), |path| reading(path, change_stream::watch)),
    ("/sessions", Some(People), |path| reading(path, sessions::list)),
    ("/sessions/sign-out", Some(People), sessions::sign_out_resource),
    ("/sessions/{id}", Some(People), sessions::session_resource),
    ("/users/{user}/sessions", Some(People), sessions::user_sessions_resource),
    ("/users/{user}", Some(People), users::resource),
];

/// Where nothing is, but no key is asked for either.
const OPEN_FOLDER: &str = "/health/";

/// Whether everyone may look at this path of a request. Everywhere else a key is asked for, also where nothing is.
pub(crate) fn is_open(path: &str) -> bool {
    path.starts_with(OPEN_FOLDER) || OTHERS.iter().any(|(known, scope, _)| scope.is_none() && *known == path)
}
