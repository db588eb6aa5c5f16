//! Settings of the use cases.

use companion_domain::{
    model::{SecretKey, Span},
    session::{SessionLimits, TokenRing},
    usecase::{Freshness, Settings},
};
use std::num::NonZeroU32;

const DAY: u32 = 24 * 60 * 60;

/// Returns the defaults of the program, with a well-known key.
#[must_use]
pub fn settings() -> Settings {
    Settings {
        tokens: TokenRing::new(&SecretKey::new([1; 32]), &[]),
        limits: SessionLimits {
            lifetime: Span::from_seconds(30 * DAY),
            idle: Span::from_seconds(7 * DAY),
            per_user: NonZeroU32::MIN.saturating_add(9),
        },
        keep_tokens: true,
        freshness: Freshness { refresh_after: Span::from_seconds(60), stale_for: Span::from_seconds(DAY) },
        categories: Vec::new(),
        silent_after: Span::from_seconds(90),
    }
}
