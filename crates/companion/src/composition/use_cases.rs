//! What the use cases are told.

use crate::{
    configuration::{Configuration, Keyring},
    vault::SealingVault,
};
use companion_domain::{
    port::{Entropy, Vault},
    session::{SessionLimits, TokenRing},
    usecase::{Freshness, Settings},
};
use std::sync::Arc;

pub(crate) fn settings(configuration: &Configuration, keys: &Keyring) -> Settings {
    let Configuration { sessions, guilds, identity, team, bot, .. } = configuration;
    Settings {
        tokens: TokenRing::new(&keys.first, &keys.others),
        limits: SessionLimits {
            lifetime: sessions.lifetime,
            idle: sessions.idle,
            per_user: sessions.per_user,
        },
        keep_tokens: identity.keep_tokens,
        freshness: Freshness { refresh_after: guilds.refresh_after, stale_for: guilds.stale_for },
        categories: team.categories.clone(),
        silent_after: bot.silent_after,
    }
}

/// Seals with the first key of the ring, opens with all of them.
pub(crate) fn vault(keys: &Keyring, entropy: &Arc<dyn Entropy>) -> Arc<dyn Vault> {
    Arc::new(SealingVault::new(&keys.first, &keys.others, Arc::clone(entropy)))
}
