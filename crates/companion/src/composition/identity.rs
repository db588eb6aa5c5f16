//! The choice of the identity provider.

use super::metrics::IdentityMetrics;
use crate::{
    configuration::{Configuration, Identity},
    error::{ProgramError, refused},
};
use companion_domain::{
    model::PictureServer,
    port::{Clock, Entropy, IdentityErrorKind, IdentityProvider, PlatformPauses},
};
use companion_http::MetricsSource;
use companion_identity_oauth2::{Deadlines, Limits, OauthIdentity, Settings};
use companion_storage_memory::{IdentityCall, MemoryIdentity};
use std::sync::Arc;

/// Returns the `User-Agent` of requests to the platform, in the form that it asks bots for: `DiscordBot (URL, VERSION)`.
pub(crate) fn user_agent(configuration: &Configuration) -> String {
    let url = configuration.dashboard.url.as_ref().map_or("companion", |url| url.0.as_str());
    format!("DiscordBot ({url}, {})", env!("CARGO_PKG_VERSION"))
}

/// A provider, and its metrics if it has any.
type ChosenProvider = (Arc<dyn IdentityProvider>, Option<Arc<dyn MetricsSource>>);

/// Returns the configured provider. Without one, returns a provider that is always unreachable, so that everything but
/// sign-in is served. Existing sessions stay valid.
pub(super) fn choose(
    configuration: &Configuration,
    clock: &Arc<dyn Clock>,
    entropy: &Arc<dyn Entropy>,
    pauses: Arc<dyn PlatformPauses>,
) -> Result<ChosenProvider, ProgramError> {
    let Some(settings) = settings(configuration) else {
        tracing::warn!("identity.client_id is not set: every sign-in is refused");
        let unreachable = MemoryIdentity::new(Arc::clone(clock), Arc::clone(entropy));
        for call in IdentityCall::ALL {
            unreachable.fail_with(call, Some(IdentityErrorKind::Unreachable));
        }
        return Ok((Arc::new(unreachable), None));
    };
    let provider = OauthIdentity::new(&settings, Arc::clone(clock), pauses);
    let provider = provider.map_err(|error| refused(format_args!("identity.api_url: {error}")))?;
    let provider = Arc::new(provider);
    Ok((Arc::clone(&provider) as Arc<dyn IdentityProvider>, Some(Arc::new(IdentityMetrics(provider)))))
}

/// Returns the provider's settings, or `None` if no application is configured.
fn settings(configuration: &Configuration) -> Option<Settings> {
    let Identity { client_id, client_secret, api_url, cdn_url, .. } = &configuration.identity;
    Some(Settings {
        api_url: api_url.clone(),
        pictures: PictureServer::new(cdn_url.clone()),
        client_id: client_id.as_ref()?.as_str().to_owned(),
        client_secret: client_secret.clone()?,
        user_agent: user_agent(configuration),
        deadlines: Deadlines::default(),
        limits: Limits::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Layers, load};

    #[test]
    fn the_user_agent_has_the_address_of_the_dashboard() {
        let version = env!("CARGO_PKG_VERSION");
        for (url, expected) in [(None, "companion"), (Some("https://a.example"), "https://a.example")] {
            let layers = Layers::none();
            let layers = match url {
                Some(url) => layers.with("COMPANION_DASHBOARD__URL", url),
                None => layers,
            };
            let configuration = load(&layers).unwrap().configuration;
            assert_eq!(user_agent(&configuration), format!("DiscordBot ({expected}, {version})"));
        }
    }
}
