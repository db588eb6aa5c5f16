//! The list of public paths. The routes and the document are both made from it, so they cannot differ.

use super::{auth, feedback, guilds, status, team};
use crate::routing;
use actix_web::Resource;

/// A public path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Status,
    Auth,
    Guilds,
    Feedback,
    Team,
}

impl Endpoint {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Status, Self::Auth, Self::Guilds, Self::Feedback, Self::Team];

    /// Where it is.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Status => "/",
            Self::Auth => "/auth",
            Self::Guilds => "/guilds",
            Self::Feedback => "/feedback",
            Self::Team => "/team",
        }
    }

    /// What answers there.
    pub(super) fn resource(self, sign_out: bool) -> Resource {
        match self {
            Self::Status => routing::reading(self.path(), status::report),
            Self::Auth => auth::resource(self.path(), sign_out),
            Self::Guilds => routing::reading(self.path(), guilds::list),
            Self::Feedback => routing::reading(self.path(), feedback::pick),
            Self::Team => routing::reading(self.path(), team::show),
        }
    }
}
