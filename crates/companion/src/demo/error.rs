//! Why there is no demo.

use super::RequestError;
use crate::{
    composition::Unserviceable,
    configuration::{ListenAddress, Mistakes},
    service::{CannotListen, StartError},
};
use companion_domain::model::Invalid;
use std::io;

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The sample itself is wrong.
    #[error("the sample world is not valid: {0}")]
    Invalid(#[from] Invalid),
    /// The sample's configuration is wrong.
    #[error(transparent)]
    Configuration(#[from] Mistakes),
    /// A listener of the service cannot be bound.
    #[error(transparent)]
    CannotListen(#[from] CannotListen),
    /// An address is configured that others can reach.
    #[error(
        "{key}: the demo listens on loopback only, and {address} is not: whoever reaches it can sign in as anyone\n    \
         fix: leave {key} unset for the demo, and choose its ports with --port"
    )]
    NotLoopback {
        /// Where it is configured.
        key: &'static str,
        /// The address.
        address: ListenAddress,
    },
    /// The provider's listener cannot be bound. No key has its address.
    #[error(
        "the demo's identity provider cannot listen on {address}: {error}\n    fix: {}",
        super::running::PORT_TAKEN
    )]
    ProviderCannotListen {
        /// Where it should have been.
        address: ListenAddress,
        /// What the system says.
        error: io::Error,
    },
    /// The provider does not run.
    #[error("cannot start the demo's identity provider: {0}")]
    Provider(#[from] companion_dev_identity::StartError),
    /// There is no place for the temporary database.
    #[error("cannot use the temporary folder: {0}")]
    Folder(io::Error),
    /// The service cannot be put together.
    #[error(transparent)]
    Unserviceable(#[from] Unserviceable),
    /// The service does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The sample world could not be fed.
    #[error("cannot send the sample world to the management API: {0}")]
    Feed(#[from] RequestError),
}
