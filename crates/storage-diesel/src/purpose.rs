//! The purpose of a connection, which decides its settings.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short reads, or listening for notifications.
    Read,
    /// One long read.
    Export,
    /// Batches of writes.
    Write,
    /// One sync, or a migration.
    Bulk,
}
