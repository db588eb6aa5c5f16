//! The table of management paths. The routes and the metrics are made from it, and a test compares the document with it.

use crate::{
    change_stream, clusters, health, metrics, reference,
    resource::{KeyedRecord as _, resource},
    sessions, sync, team, users, why,
};
use actix_web::Resource;
use companion_http::routing::reading;
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, StaffRecord, SubscriptionRecord,
};

/// A path, and what answers there.
pub(crate) type Route = (&'static str, fn(&'static str) -> Resource);

/// All of them. Of two that match the same path the first one answers.
pub(crate) const ROUTES: [Route; 21] = [
    ("/health/live", |path| reading(path, health::live)),
    ("/health/ready", |path| reading(path, health::ready)),
    ("/metrics", |path| reading(path, metrics::show)),
    (reference::DOCUMENT_PATH, |path| reading(path, reference::document)),
    (reference::PAGE_PATH, |path| reading(path, reference::page)),
    (GuildRecord::PATH, resource::<GuildRecord>),
    (MemberRecord::PATH, resource::<MemberRecord>),
    ("/bot/guilds/{guild}/why/{user}", |path| reading(path, why::explain)),
    (SubscriptionRecord::PATH, resource::<SubscriptionRecord>),
    (StaffRecord::PATH, resource::<StaffRecord>),
    ("/bot/team", team::resource),
    (FeedbackRecord::PATH, resource::<FeedbackRecord>),
    (BlockedRecord::PATH, resource::<BlockedRecord>),
    ("/bot/clusters/{cluster}/heartbeat", clusters::resource),
    ("/bot/sync", sync::resource),
    ("/bot/changes", |path| reading(path, change_stream::watch)),
    ("/sessions", |path| reading(path, sessions::list)),
    ("/sessions/sign-out", sessions::sign_out_resource),
    ("/sessions/{id}", sessions::session_resource),
    ("/users/{user}/sessions", sessions::user_sessions_resource),
    ("/users/{user}", users::resource),
];

/// Whether everyone may look there. Everywhere else a key is asked for, also where nothing is.
pub(crate) fn is_open(path: &str) -> bool {
    path.starts_with("/health/") || path == reference::DOCUMENT_PATH || path == reference::PAGE_PATH
}
