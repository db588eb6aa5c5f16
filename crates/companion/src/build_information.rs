//! Which build this is. The build script found it out.

use companion_http::BuildInfo;

/// Version, branch and commit in the words of `--version`.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (branch ",
    env!("COMPANION_BUILD_BRANCH"),
    ", commit ",
    env!("COMPANION_BUILD_SHA"),
    ")"
);

/// The version, and the branch and commit it was built from as far as the build knew them.
#[must_use]
pub fn build_information() -> BuildInfo {
    BuildInfo {
        name: env!("CARGO_PKG_VERSION").to_owned(),
        branch: env!("COMPANION_BUILD_BRANCH").to_owned(),
        sha: env!("COMPANION_BUILD_SHA").to_owned(),
        message: env!("COMPANION_BUILD_MESSAGE").to_owned(),
        author: env!("COMPANION_BUILD_AUTHOR").to_owned(),
        timestamp: env!("COMPANION_BUILD_TIMESTAMP").parse().unwrap_or(0),
    }
}
