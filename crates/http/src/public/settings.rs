//! Settings of the public API, and the context of its handlers.

use crate::{
    client::TrustedProxies,
    concurrency::ConcurrencyLimiter,
    origin::{Origin, Redirects},
    projection::{Projections, RenderedListings},
    sign_ins::SignInAttempts,
    wire::BuildInfo,
};
use companion_domain::{model::PictureServer, port::Clock, usecase::UseCases};
use std::{num::NonZeroU32, sync::Arc};

/// Settings of the public API.
#[derive(Debug, Clone)]
pub struct PublicSettings {
    /// Origins that may read responses and sign users in.
    pub allowed_origins: Vec<Origin>,
    /// OAuth redirect URLs.
    pub redirects: Redirects,
    /// Whether `DELETE /auth` ends a session.
    pub sign_out: bool,
    /// Whether `/guilds/{guild}/settings` exists.
    pub guild_settings: bool,
    /// Largest request body, in bytes.
    pub body_limit: usize,
    /// The running version, shown by `GET /`.
    pub build: BuildInfo,
    /// Server of the default icons of guilds.
    pub pictures: PictureServer,
    /// Whether each request is logged.
    pub access_log: bool,
    /// Whether the listener terminates TLS. Responses then have `Strict-Transport-Security`.
    pub tls: bool,
    /// Trusted reverse proxies, whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
    /// Refused codes per client and minute.
    pub refused_codes_per_minute: NonZeroU32,
    /// Memory for rendered listings, in bytes.
    pub rendered_listings: u64,
}

/// Context of the handlers.
pub(crate) struct PublicContext {
    pub(super) use_cases: UseCases,
    pub(super) projections: Arc<Projections>,
    pub(super) settings: PublicSettings,
    pub(super) listings: RenderedListings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sign_ins: Arc<SignInAttempts>,
    /// Limits requests that wait for the store.
    pub(super) storage_limiter: ConcurrencyLimiter,
    /// Limits requests that wait for a newer list of the platform.
    pub(super) list_limiter: ConcurrencyLimiter,
}
