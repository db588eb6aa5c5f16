//! Errors of commands and their exit codes.

use crate::{composition::CompositionError, configuration::ConfigurationError};
use std::{error::Error, fmt::Display};

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    /// The configuration has errors, or asks for something that this program cannot do.
    #[error("{0}")]
    Refused(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl From<ConfigurationError> for CommandError {
    fn from(error: ConfigurationError) -> Self {
        Self::Refused(error.to_string())
    }
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
            Self::Refused(_) => 2,
        }
    }
}

/// Creates the error of an operation that failed for this reason.
pub(super) fn failed(why: impl Display) -> CommandError {
    CommandError::Failed(why.to_string())
}

/// Like [`failed`], with the operation in front, and each cause of the error on a line of its own.
pub(super) fn cannot(what: &str, error: &dyn Error) -> CommandError {
    CommandError::Failed(format!("cannot {what}: {}", with_causes(error)))
}

/// Formats an error, with each of its causes on a line of its own.
pub(super) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}\n    cause: {cause}"))
}
