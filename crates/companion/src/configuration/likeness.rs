//! How alike two names are.

/// Which of these names is most like this one.
pub(super) fn most_alike(name: &str, known: impl Iterator<Item = &'static str>) -> &'static str {
    known.max_by(|a, b| likeness(name, a).total_cmp(&likeness(name, b))).unwrap_or_default()
}

/// How alike two paths are. A right last step in the wrong table counts too, though less.
fn likeness(one: &str, other: &str) -> f64 {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = strsim::normalized_damerau_levenshtein(one, other);
    let end = strsim::normalized_damerau_levenshtein(&last(one), &last(other));
    whole.max(0.9 * end)
}
