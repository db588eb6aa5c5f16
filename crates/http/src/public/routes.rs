//! The table of public paths.

use super::{auth, context::PublicContext, feedback, guilds, status, team};
use crate::{
    edge::{ReadyAnswer, ReadyAnswers},
    receipt::Receipt,
    routing::reading,
};
use actix_web::{HttpRequest, HttpResponse, Resource};

/// A path, and what answers there.
pub(super) struct Route {
    pub(super) path: &'static str,
    /// Its handlers, with or without signing out.
    pub(super) resource: fn(&'static str, bool) -> Resource,
    /// What reading it gives where nothing but memory is needed.
    ready: fn(&PublicContext, &HttpRequest, &Receipt) -> Option<HttpResponse>,
}

/// All of them. A test compares the document with it.
pub(super) const ROUTES: [Route; 5] = [
    Route { path: "/", resource: |path, _| reading(path, status::report), ready: status::ready },
    Route { path: "/auth", resource: auth::resource, ready: |_, _, _| None },
    Route { path: "/guilds", resource: |path, _| reading(path, guilds::list), ready: guilds::ready },
    Route { path: "/feedback", resource: |path, _| reading(path, feedback::pick), ready: feedback::ready },
    Route { path: "/team", resource: |path, _| reading(path, team::show), ready: team::ready },
];

impl ReadyAnswers for PublicContext {
    fn ready(&self, request: &HttpRequest, receipt: &Receipt) -> Option<ReadyAnswer> {
        let route = ROUTES.iter().find(|route| route.path == request.path())?;
        let response = (route.ready)(self, request, receipt)?;
        Some(ReadyAnswer { path: route.path, response })
    }
}
