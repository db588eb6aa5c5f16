//! The error of the program. Its kind decides the exit code.

use crate::configuration::ConfigurationError;
use std::{error::Error, fmt::Display};

/// The reason why the program cannot do what it was asked for, as a message for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The configuration has errors, lacks something that is required, or asks for something that this program cannot do.
    #[error("{0}")]
    Refused(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl From<ConfigurationError> for ProgramError {
    fn from(error: ConfigurationError) -> Self {
        refused(error)
    }
}

impl ProgramError {
    /// Returns the exit code of a command that ends with it.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Refused(_) => 2,
        }
    }
}

/// Creates the error of something that cannot be done as configured.
pub(crate) fn refused(why: impl Display) -> ProgramError {
    ProgramError::Refused(why.to_string())
}

/// Creates the error of an operation that failed for this reason.
pub(crate) fn failed(why: impl Display) -> ProgramError {
    ProgramError::Failed(why.to_string())
}

/// Like [`failed`], with the operation in front, and each cause of the error on a line of its own.
pub(crate) fn cannot(what: &str, error: &dyn Error) -> ProgramError {
    failed(format_args!("cannot {what}: {}", with_causes(error)))
}

/// Formats an error, with each of its causes on a line of its own.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}\n    cause: {cause}"))
}
