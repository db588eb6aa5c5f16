//! Errors of commands and their exit codes.

use crate::{composition::CompositionError, configuration::ConfigurationError};
use std::error::Error;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    /// The configuration has errors.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The configuration is valid, but asks for something that this program cannot do.
    #[error("{0}")]
    Refused(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl From<CompositionError> for CommandError {
    fn from(error: CompositionError) -> Self {
        match error {
            CompositionError::Refused(why) => Self::Refused(why),
            CompositionError::Failed(why) => Self::Failed(why),
        }
    }
}

impl CommandError {
    pub(super) const fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Configuration(_) | Self::Refused(_) => 2,
        }
    }
}

/// Formats an error, with each of its causes on a line of its own.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}\n    cause: {cause}"))
}
