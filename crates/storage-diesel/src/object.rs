//! What a schema consists of, and how one differs from what it should be.

use diesel::{QueryableByName, sql_types::Text};

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

/// The first thing that is missing, different, or too much.
pub(crate) fn difference(found: &[Object], expected: &[Object]) -> Option<String> {
    let missing = expected.iter().find(|object| !found.contains(object));
    let foreign = found.iter().find(|object| !expected.contains(object));
    let object = missing.or(foreign)?;
    let same_name = |others: &[Object]| others.iter().any(|other| other.name == object.name);
    let how = match (same_name(found), same_name(expected)) {
        (true, true) => "is not as it should be",
        (false, _) => "is missing",
        (true, false) => "does not belong there",
    };
    Some(format!("{} {} {how}", object.kind, object.name))
}
