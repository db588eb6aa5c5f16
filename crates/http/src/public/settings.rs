//! Settings of the public API, and the context of its handlers.

use crate::{
    build_info::BuildInfo,
    client::TrustedProxies,
    gate::Gate,
    origin::{Origin, Redirects},
    projection::{Projections, RenderedListings},
    sign_ins::SignInAttempts,
};
use companion_domain::{
    model::PictureServer,
    port::Clock,
    usecase::{Authenticate, ListGuilds, ManageSessions, PickFeedback, SignIn, UseCases},
};
use std::{num::NonZeroU32, sync::Arc};

/// What the public API does.
#[derive(Clone)]
pub struct PublicUseCases {
    /// Signs users in.
    pub sign_in: Arc<SignIn>,
    /// Recognises sessions.
    pub authenticate: Arc<Authenticate>,
    /// Lists guilds.
    pub list_guilds: Arc<ListGuilds>,
    /// Picks feedback.
    pub pick_feedback: Arc<PickFeedback>,
    /// Ends sessions.
    pub sessions: Arc<ManageSessions>,
}

impl From<&UseCases> for PublicUseCases {
    fn from(all: &UseCases) -> Self {
        Self {
            sign_in: all.sign_in.clone(),
            authenticate: all.authenticate.clone(),
            list_guilds: all.list_guilds.clone(),
            pick_feedback: all.pick_feedback.clone(),
            sessions: all.sessions.clone(),
        }
    }
}

/// How the public API behaves.
#[derive(Debug, Clone)]
pub struct PublicSettings {
    /// Pages of these origins may read answers and sign users in.
    pub allowed_origins: Vec<Origin>,
    /// Where the platform sends users back to.
    pub redirects: Redirects,
    /// Whether `DELETE /auth` ends a session.
    pub sign_out: bool,
    /// The largest request body that is read, in bytes.
    pub body_limit: usize,
    /// What `GET /` says about the running version.
    pub build: BuildInfo,
    /// Where pictures are, for guilds without an icon.
    pub pictures: PictureServer,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Whether the listener speaks TLS itself. Browsers are then told not to come without it.
    pub tls: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
    /// How many refused codes one client may send in a minute.
    pub refused_codes_per_minute: NonZeroU32,
    /// How much memory rendered listings may take, in bytes.
    pub rendered_listings: u64,
}

/// The use cases, the public answers kept in memory, and how the API behaves.
pub(crate) struct PublicContext {
    pub(super) use_cases: PublicUseCases,
    pub(super) projections: Arc<Projections>,
    pub(super) settings: PublicSettings,
    pub(super) listings: RenderedListings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sign_ins: Arc<SignInAttempts>,
    /// The way to storage.
    pub(super) storage: Gate,
    /// The way to newer lists of the platform.
    pub(super) newer_lists: Gate,
}
