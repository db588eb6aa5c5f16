//! What an operator can set.

use companion_domain::{
    model::{Name, SecretKey, Span, WebUrl},
    session::{SessionLimits, TokenRing},
    usecase::Freshness,
};
use std::num::NonZeroU32;

const DAY: u32 = 24 * 60 * 60;

/// What an operator can set, as far as use cases care. The defaults are those of the program.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Signs session tokens.
    pub tokens: TokenRing,
    /// What ends sessions.
    pub limits: SessionLimits,
    /// Whether platform tokens are kept.
    pub keep_tokens: bool,
    /// How old a list of guilds may be.
    pub freshness: Freshness,
    /// The team's categories that come first.
    pub categories: Vec<Name>,
    /// How long a cluster may say nothing and still count.
    pub silent_after: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tokens: TokenRing::new(&SecretKey::new([1; 32]), &[]),
            limits: SessionLimits {
                lifetime: Span::from_seconds(30 * DAY),
                idle: Span::from_seconds(7 * DAY),
                per_user: NonZeroU32::MIN.saturating_add(9),
            },
            keep_tokens: true,
            freshness: Freshness {
                refresh_after: Span::from_seconds(60),
                stale_for: Span::from_seconds(DAY),
            },
            categories: Vec::new(),
            silent_after: Span::from_seconds(90),
        }
    }
}

#[expect(clippy::unwrap_used, reason = "only for addresses that are written in this crate")]
pub(super) fn web_url(text: &str) -> WebUrl {
    text.parse().unwrap()
}
