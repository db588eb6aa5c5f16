//! How a piece of work on the database fails, and what callers are told of it.

use companion_domain::port::{StoreError, StoreErrorKind};
use diesel::result::{DatabaseErrorKind, Error as DatabaseError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("{0}")]
    Conflict(&'static str),
    /// It may lack what was committed elsewhere, and nobody here can tell how much.
    #[cfg(feature = "postgres")]
    #[error("the server is a standby, which may lag behind")]
    Standby,
    /// The work has a mistake in it.
    #[error("a write panicked")]
    Panicked,
}

/// A row that does not make sense. What it holds is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("table {table}, column {column} holds something that makes no sense")]
pub(crate) struct RowError {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
}

impl Failure {
    /// Whether it is over as soon as others have done what they are at.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Database(error) if means_busy(&error.to_string()))
    }

    /// Whether the database failed, and not just because others were busy: its disk is full, it may only be read, or it
    /// has gone.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, Self::Database(_)) && self.kind() == StoreErrorKind::Unavailable && !self.is_passing()
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Database(error) => kind_of(error),
            Self::Row(_) | Self::Panicked => StoreErrorKind::Corrupt,
            Self::Conflict(_) => StoreErrorKind::Conflict,
            #[cfg(feature = "postgres")]
            Self::Standby => StoreErrorKind::Unavailable,
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        Self::new(failure.kind(), failure)
    }
}

/// The one place that decides what a failure of the database means to callers.
fn kind_of(error: &DatabaseError) -> StoreErrorKind {
    use StoreErrorKind::{Conflict, Corrupt, Unavailable};
    match error {
        DatabaseError::DatabaseError(kind, information) => match kind {
            DatabaseErrorKind::UniqueViolation | DatabaseErrorKind::ForeignKeyViolation => Conflict,
            DatabaseErrorKind::NotNullViolation
            | DatabaseErrorKind::CheckViolation
            | DatabaseErrorKind::RestrictViolation
            | DatabaseErrorKind::ExclusionViolation => Corrupt,
            DatabaseErrorKind::UnableToSendCommand
            | DatabaseErrorKind::SerializationFailure
            | DatabaseErrorKind::ReadOnlyTransaction
            | DatabaseErrorKind::ClosedConnection => Unavailable,
            // Diesel may add kinds, and has none for what databases say in words.
            _ if means_damage(information.message()) => Corrupt,
            _ => Unavailable,
        },
        DatabaseError::AlreadyInTransaction
        | DatabaseError::NotInTransaction
        | DatabaseError::BrokenTransactionManager
        | DatabaseError::RollbackTransaction
        | DatabaseError::RollbackErrorOnCommit { .. } => Unavailable,
        // A row that must be there is not, or something that must fit does not: asking again will not help.
        DatabaseError::NotFound
        | DatabaseError::InvalidCString(_)
        | DatabaseError::QueryBuilderError(_)
        | DatabaseError::DeserializationError(_)
        | DatabaseError::SerializationError(_)
        | DatabaseError::IntegerConversion(_) => Corrupt,
        // Diesel may add variants.
        _ => Unavailable,
    }
}

/// Whether others were busy for too long, by what any of the databases says.
fn means_busy(message: &str) -> bool {
    let databases: &[fn(&str) -> bool] = &[
        #[cfg(feature = "sqlite")]
        crate::sqlite::fault::means_busy,
        #[cfg(feature = "postgres")]
        crate::postgres::fault::means_busy,
    ];
    databases.iter().any(|means_busy| means_busy(message))
}

/// Whether trying again cannot help, by what any of the databases says.
fn means_damage(message: &str) -> bool {
    let databases: &[fn(&str) -> bool] = &[
        #[cfg(feature = "sqlite")]
        crate::sqlite::fault::means_damage,
        #[cfg(feature = "postgres")]
        crate::postgres::fault::means_damage,
    ];
    databases.iter().any(|means_damage| means_damage(message))
}
