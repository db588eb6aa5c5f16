//! What an operator can set.

use super::Freshness;
use crate::{
    model::{Name, Span},
    session::{SessionLimits, TokenRing},
};

/// What an operator can set, as far as use cases care.
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
