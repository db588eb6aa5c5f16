//! Conformance of the in-memory identity provider, which is its own platform.

use companion_storage_memory::MemoryIdentity;
use companion_testkit::{
    clock::FixedClock,
    conformance::{Fresh, identity_provider::ProviderOnPlatform},
    entropy::SeededEntropy,
};
use std::sync::Arc;

fn on_its_own_platform() -> ProviderOnPlatform {
    let (clock, entropy) = (FixedClock::default(), SeededEntropy::default());
    let identity = Arc::new(MemoryIdentity::new(Arc::new(clock), Arc::new(entropy)));
    ProviderOnPlatform { provider: identity.clone(), platform: identity }
}

companion_testkit::identity_provider_conformance! {
    Fresh::new(Arc::new(on_its_own_platform()))
}
