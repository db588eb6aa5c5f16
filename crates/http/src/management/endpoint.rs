//! The list of management paths. The routes, the metrics and the document are all made from it, so they cannot differ.

use super::{bot, health, metrics, reference, sessions};
use crate::routing;
use actix_web::Resource;
use companion_records::{
    BlockedRecord, FeedbackRecord, GuildRecord, MemberRecord, StaffRecord, SubscriptionRecord,
};

/// A path of the management API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Live,
    Ready,
    Metrics,
    Document,
    Reference,
    Guild,
    Member,
    Why,
    Plus,
    Staff,
    Team,
    Feedback,
    Blocked,
    Heartbeat,
    Sync,
    Sessions,
    SignOut,
    Session,
    UserSessions,
    User,
}

impl Endpoint {
    /// All of them. Of two that match the same path the first one answers.
    pub(crate) const ALL: [Self; 20] = [
        Self::Live,
        Self::Ready,
        Self::Metrics,
        Self::Document,
        Self::Reference,
        Self::Guild,
        Self::Member,
        Self::Why,
        Self::Plus,
        Self::Staff,
        Self::Team,
        Self::Feedback,
        Self::Blocked,
        Self::Heartbeat,
        Self::Sync,
        Self::Sessions,
        Self::SignOut,
        Self::Session,
        Self::UserSessions,
        Self::User,
    ];

    /// Where it is.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Live => "/health/live",
            Self::Ready => "/health/ready",
            Self::Metrics => "/metrics",
            Self::Document => "/openapi.json",
            Self::Reference => "/docs",
            Self::Guild => "/bot/guilds/{guild}",
            Self::Member => "/bot/guilds/{guild}/members/{user}",
            Self::Why => "/bot/guilds/{guild}/why/{user}",
            Self::Plus => "/bot/plus/{user}",
            Self::Staff => "/bot/staff/{user}",
            Self::Team => "/bot/team",
            Self::Feedback => "/bot/feedback/{id}",
            Self::Blocked => "/bot/blocked/{user}",
            Self::Heartbeat => "/bot/clusters/{cluster}/heartbeat",
            Self::Sync => "/bot/sync",
            Self::Sessions => "/sessions",
            Self::SignOut => "/sessions/sign-out",
            Self::Session => "/sessions/{id}",
            Self::UserSessions => "/users/{user}/sessions",
            Self::User => "/users/{user}",
        }
    }

    /// What answers there.
    pub(super) fn resource(self) -> Resource {
        let path = self.path();
        match self {
            Self::Live => routing::reading(path, health::live),
            Self::Ready => routing::reading(path, health::ready),
            Self::Metrics => routing::reading(path, metrics::show),
            Self::Document => routing::reading(path, reference::document),
            Self::Reference => routing::reading(path, reference::page),
            Self::Guild => bot::resource::<GuildRecord>(path),
            Self::Member => bot::resource::<MemberRecord>(path),
            Self::Why => routing::reading(path, bot::why::explain),
            Self::Plus => bot::resource::<SubscriptionRecord>(path),
            Self::Staff => bot::resource::<StaffRecord>(path),
            Self::Team => bot::team::resource(path),
            Self::Feedback => bot::resource::<FeedbackRecord>(path),
            Self::Blocked => bot::resource::<BlockedRecord>(path),
            Self::Heartbeat => bot::clusters::resource(path),
            Self::Sync => bot::sync::resource(path),
            Self::Sessions => routing::reading(path, sessions::list),
            Self::SignOut => sessions::sign_out_resource(path),
            Self::Session => sessions::session_resource(path),
            Self::UserSessions => sessions::user_sessions_resource(path),
            Self::User => sessions::user_resource(path),
        }
    }
}
