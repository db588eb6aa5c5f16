//! The memory adapters keep what their ports promise.

mod identity;

use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{Fresh, Stores};
use std::sync::Arc;

companion_testkit::storage_conformance! {
    Fresh::new(Arc::new(Stores::of(&Arc::new(MemoryStorage::new()))))
}
