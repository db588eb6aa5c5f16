//! Every promise of every storage port, over two handles to the same file that know nothing of each other.

use crate::folder::Folder;
use companion_testkit::conformance::{Fresh, Stores};
use std::sync::Arc;

companion_testkit::storage_conformance! {{
    let folder = Folder::new();
    let (one, other) = (Arc::new(folder.open().await), Arc::new(folder.open().await));
    Fresh::new(Arc::new(Stores::of(&one))).with_other(Arc::new(Stores::of(&other))).keeping(folder)
}}
