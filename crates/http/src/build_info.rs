//! What is running.

/// What this program was built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildInfo {
    /// Its name: the version of the crate.
    pub name: String,
    /// The branch it was built from.
    pub branch: String,
    /// The full hash of the commit.
    pub sha: String,
    /// The commit's message.
    pub message: String,
    /// The commit's author.
    pub author: String,
    /// When the commit was made, in seconds since 1970.
    pub timestamp: i64,
}
