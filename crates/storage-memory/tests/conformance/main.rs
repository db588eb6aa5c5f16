//! Conformance of the memory adapters to their ports.

mod identity;

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
