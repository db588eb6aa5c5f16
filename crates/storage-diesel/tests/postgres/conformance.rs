//! Every promise of every storage port, over two handles to the same database that know nothing of each other, as two
//! nodes would have.

use crate::schema::Schema;
use companion_testkit::conformance::{Fresh, Stores};
use std::sync::Arc;

companion_testkit::storage_conformance! {{
    let schema = Schema::new();
    let (one, other) = (Arc::new(schema.open().await), Arc::new(schema.open().await));
    Fresh::new(Arc::new(Stores::of(&one))).with_other(Arc::new(Stores::of(&other))).keeping(schema)
}}
