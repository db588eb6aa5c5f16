//! What the migrations of all databases share: their names, and the comparison of the expected schema with the actual
//! one. Every database has the same migrations.

use crate::error::OpenError;
use diesel::{
    QueryableByName,
    backend::Backend,
    migration::{Migration, MigrationSource},
    sql_types::Text,
};
use diesel_migrations::EmbeddedMigrations;
use std::fmt::Display;

/// The migrations of one database, in order.
pub(crate) struct Steps(Vec<Step>);

struct Step {
    version: String,
    name: String,
}

impl Steps {
    /// Returns the embedded migrations.
    pub(crate) fn of<DB: Backend>(source: &EmbeddedMigrations) -> Self {
        // They are part of the program, so listing them cannot fail.
        let found: Vec<Box<dyn Migration<DB>>> = source.migrations().unwrap_or_default();
        let step = |step: Box<dyn Migration<DB>>| Step {
            version: step.name().version().to_string(),
            name: step.name().to_string(),
        };
        let mut steps: Vec<_> = found.into_iter().map(step).collect();
        steps.sort_by(|one, other| one.version.cmp(&other.version));
        Self(steps)
    }

    /// Returns the names of the migrations that are not in `applied`.
    pub(crate) fn lacking(&self, applied: &[String]) -> Vec<String> {
        let lacking = self.0.iter().filter(|step| !applied.contains(&step.version));
        lacking.map(|step| step.name.clone()).collect()
    }

    /// Returns an error if `applied` contains a migration of a newer version.
    pub(crate) fn refuse_newer(&self, applied: &[String], database: &dyn Display) -> Result<(), OpenError> {
        match applied.iter().find(|version| !self.0.iter().any(|step| step.version == **version)) {
            Some(step) => Err(OpenError::Newer { database: database.to_string(), step: step.clone() }),
            None => Ok(()),
        }
    }

    /// Returns whether the first migration was applied. It was in every database of this program, of any version.
    pub(crate) fn include_first(&self, applied: &[String]) -> bool {
        self.0.first().is_some_and(|first| applied.contains(&first.version))
    }

    /// Returns whether exactly these migrations were applied.
    pub(crate) fn are_exactly(&self, applied: &[String]) -> bool {
        applied.len() == self.0.len() && self.lacking(applied).is_empty()
    }
}

/// A table or an index.
#[derive(QueryableByName, Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Text)]
    pub(crate) name: String,
    /// The table that it belongs to.
    #[diesel(sql_type = Text)]
    pub(crate) table_name: String,
    #[diesel(sql_type = Text)]
    pub(crate) definition: String,
}

/// Describes the first object that is missing, different or unexpected. Returns `None` if there is none.
pub(crate) fn difference(found: &[Object], expected: &[Object]) -> Option<String> {
    let missing = expected.iter().find(|object| !found.contains(object));
    let foreign = found.iter().find(|object| !expected.contains(object));
    let object = missing.or(foreign)?;
    let same_name = |others: &[Object]| others.iter().any(|other| other.name == object.name);
    let how = match (same_name(found), same_name(expected)) {
        (true, true) => "differs from the migrations",
        (false, _) => "is missing",
        (true, false) => "is unexpected",
    };
    Some(format!("{} {} {how}", object.kind, object.name))
}
