//! What the dashboard is told.

use crate::signature::SigningKeys;
use companion_domain::model::{Name, Span, WebUrl};
use companion_http::{Origin, TrustedProxies};

/// How the dashboard behaves.
#[derive(Debug, Clone)]
pub struct DashboardSettings {
    /// Its address, as browsers see it.
    pub url: Origin,
    /// What the bot is called.
    pub name: Name,
    /// Where the bot is invited to a guild.
    pub invite_url: Option<WebUrl>,
    /// Where people get help.
    pub support_url: Option<WebUrl>,
    /// Where users sign in; nothing where no application is configured.
    pub platform: Option<PlatformApplication>,
    /// Where the platform's pictures are. Others are not shown.
    pub cdn_url: WebUrl,
    /// How long a session can live at most.
    pub session_lifetime: Span,
    /// Sign what browsers keep for us.
    pub keys: SigningKeys,
    /// The largest request body that is read, in bytes.
    pub body_limit: usize,
    /// Whether each request is worth a line in the log.
    pub access_log: bool,
    /// Whether the listener speaks TLS itself. Browsers are then told not to come without it.
    pub tls: bool,
    /// Proxies of ours, whose word about the client's address counts.
    pub trusted_proxies: TrustedProxies,
}

/// The application that users sign in to at the platform.
#[derive(Debug, Clone)]
pub struct PlatformApplication {
    /// Where the platform asks users whether they want to.
    pub authorize_url: WebUrl,
    /// The application's id.
    pub client_id: String,
}
