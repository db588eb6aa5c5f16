//! Conformance of the memory adapters to their ports.

use companion_domain::port::PlatformPauses;
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, Stores};
use std::sync::Arc;

companion_testkit::storage_conformance! {
    Fresh::new(Arc::new(Stores::of(&Arc::new(MemoryStorage::new()))))
}

companion_testkit::platform_pauses_conformance! {
    Fresh::new(Arc::new(MemoryStorage::new()) as Arc<dyn PlatformPauses>)
}

/// The identity provider, which is its own platform.
mod identity {
    use companion_storage_memory::MemoryIdentity;
    use companion_testkit::{
        clock::FixedClock,
        conformance::{Fresh, identity_provider::ProviderOnPlatform},
        entropy::SeededEntropy,
    };
    use std::sync::Arc;

    companion_testkit::identity_provider_conformance! {{
        let (clock, entropy) = (FixedClock::default(), SeededEntropy::default());
        let identity = Arc::new(MemoryIdentity::new(Arc::new(clock), Arc::new(entropy)));
        Fresh::new(Arc::new(ProviderOnPlatform { provider: identity.clone(), platform: identity }))
    }}
}
