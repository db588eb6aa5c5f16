//! The words in which circles are told.

use std::collections::{BTreeMap, BTreeSet};

/// A module by its path from the crate's root, which is empty.
pub(super) type Module = Vec<String>;

/// Which modules each module needs.
pub(super) type Needs = BTreeMap<Module, BTreeSet<Module>>;
