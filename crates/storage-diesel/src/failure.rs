//! Errors of a piece of work on the database, and how callers see them.

use crate::{postgres, sqlite};
use companion_domain::{
    model::GuildId,
    port::{StoreError, StoreErrorKind, SyncError},
};
use diesel::result::{DatabaseErrorKind, Error as DatabaseError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("{0}")]
    Conflict(&'static str),
    /// A standby may lack commits of the primary, and cannot tell how many.
    #[error("the server is a standby, which may lag behind")]
    Standby,
    /// The guild of a member or an outline is neither stored nor part of the sync.
    #[error("line {line} names guild {guild}, which is not known")]
    UnknownGuild { line: u64, guild: GuildId },
    #[error("a write panicked")]
    Panicked,
}

/// A row that cannot be converted to a domain value. The invalid value is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("table {table}, column {column} holds an invalid value")]
pub(crate) struct RowError {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
}

impl WorkError {
    /// Returns whether a retry may succeed once other writers are done.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if means_busy(&error.to_string()))
    }

    /// Returns whether the database itself failed, for a reason other than contention: the disk is full, the database
    /// is read-only, or it is gone.
    pub(crate) fn is_database_fault(&self) -> bool {
        matches!(self, Self::Database(_))
            && self.kind() == StoreErrorKind::Unavailable
            && !self.is_transient()
    }

    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Database(error) => kind_of(error),
            Self::Row(_) | Self::Panicked => StoreErrorKind::Corrupt,
            Self::Conflict(_) | Self::UnknownGuild { .. } => StoreErrorKind::Conflict,
            Self::Standby => StoreErrorKind::Unavailable,
        }
    }
}

impl From<WorkError> for StoreError {
    fn from(failure: WorkError) -> Self {
        Self::new(failure.kind(), failure)
    }
}

impl From<WorkError> for SyncError {
    fn from(failure: WorkError) -> Self {
        match failure {
            WorkError::UnknownGuild { line, guild } => Self::UnknownGuild { line, guild },
            failure => Self::Store(failure.into()),
        }
    }
}

/// Maps a database error to the error kind that callers see. No other place does.
fn kind_of(error: &DatabaseError) -> StoreErrorKind {
    use DatabaseErrorKind as Kind;
    use StoreErrorKind::{Conflict, Corrupt, Unavailable};
    match error {
        DatabaseError::DatabaseError(Kind::UniqueViolation | Kind::ForeignKeyViolation, _) => Conflict,
        // A row that must exist is missing, or a value does not fit: a retry does not help.
        DatabaseError::DatabaseError(
            Kind::NotNullViolation
            | Kind::CheckViolation
            | Kind::RestrictViolation
            | Kind::ExclusionViolation,
            _,
        )
        | DatabaseError::NotFound
        | DatabaseError::InvalidCString(_)
        | DatabaseError::QueryBuilderError(_)
        | DatabaseError::DeserializationError(_)
        | DatabaseError::SerializationError(_)
        | DatabaseError::IntegerConversion(_) => Corrupt,
        // Diesel has no kind for errors that databases report only as text.
        DatabaseError::DatabaseError(Kind::Unknown, information) if means_damage(information.message()) => {
            Corrupt
        }
        // A failed connection or transaction. Diesel may add kinds.
        _ => Unavailable,
    }
}

/// Returns whether the message of any database reports contention that lasted too long.
fn means_busy(message: &str) -> bool {
    sqlite::fault::means_busy(message) || postgres::fault::means_busy(message)
}

/// Returns whether the message of any database reports an error that a retry cannot fix.
fn means_damage(message: &str) -> bool {
    sqlite::fault::means_damage(message) || postgres::fault::means_damage(message)
}
