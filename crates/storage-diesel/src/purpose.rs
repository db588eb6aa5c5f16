//! What a connection is for, which decides its settings.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short reads, or listening.
    Read,
    /// One long read.
    Export,
    /// Writes as they come, in batches.
    Write,
    /// One sync, or a migration.
    Bulk,
}
