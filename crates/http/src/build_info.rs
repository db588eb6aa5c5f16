//! Build information.

/// The version and commit that this program was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildInfo {
    /// The version of the crate.
    pub name: String,
    /// The branch.
    pub branch: String,
    /// The full hash of the commit.
    pub sha: String,
    /// The commit's message.
    pub message: String,
    /// The commit's author.
    pub author: String,
    /// Commit time, in seconds since 1970.
    pub timestamp: i64,
}
