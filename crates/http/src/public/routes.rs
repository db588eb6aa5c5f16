//! The table of public paths.

use super::{auth, feedback, guilds, status, team};
use crate::routing::reading;
use actix_web::Resource;

/// A path, and what answers there, with or without signing out.
pub(super) type Route = (&'static str, fn(&'static str, bool) -> Resource);

/// All of them. A test compares the document with it.
pub(super) const ROUTES: [Route; 5] = [
    ("/", |path, _| reading(path, status::report)),
    ("/auth", auth::resource),
    ("/guilds", |path, _| reading(path, guilds::list)),
    ("/feedback", |path, _| reading(path, feedback::pick)),
    ("/team", |path, _| reading(path, team::show)),
];
