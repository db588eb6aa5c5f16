//! How alike two names are.

/// Names that are less alike than this have nothing to do with each other.
const ENOUGH: f64 = 0.6;

/// Which of these names is most like this one.
pub(super) fn most_alike(name: &str, known: impl Iterator<Item = &'static str>) -> &'static str {
    known.max_by(|a, b| likeness(name, a).total_cmp(&likeness(name, b))).unwrap_or_default()
}

/// Like [`most_alike`], but `None` if none of the names is like it.
pub(super) fn alike(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    Some(most_alike(name, known)).filter(|found| likeness(name, found) >= ENOUGH)
}

/// How alike two paths are. In the same table only the last step counts; a right last step in the wrong table counts a little
/// less. A name that goes on, or stops early, is like the other.
fn likeness(one: &str, other: &str) -> f64 {
    let ((one_table, one_name), (other_table, other_name)) = (parts(one), parts(other));
    let begins_alike = one_name.starts_with(other_name) || other_name.starts_with(one_name);
    let name = strsim::normalized_damerau_levenshtein(one_name, other_name);
    let name = if begins_alike { name.max(ENOUGH) } else { name };
    if one_table == other_table {
        return name;
    }
    strsim::normalized_damerau_levenshtein(one, other).max(0.9 * name)
}

/// The table and the last step of a path.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}
