//! Why a configuration cannot be followed.

/// The configuration can be read, but not followed.
#[derive(Debug, thiserror::Error)]
pub enum Unserviceable {
    /// It asks for something that this program cannot do, or leaves out what is needed.
    #[error("{0}")]
    Refused(String),
    /// What it asks for did not work.
    #[error("{0}")]
    Failed(String),
}
