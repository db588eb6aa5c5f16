//! Where the repository is.

use std::path::Path;

use anyhow::{Context, Result};

/// The top of the repository, so that every chore works from any folder in it.
pub(crate) fn root() -> Result<&'static Path> {
    let this_crate = Path::new(env!("CARGO_MANIFEST_DIR"));
    this_crate.ancestors().nth(2).context("this crate is not two folders below the top of the repository")
}
