//! Which known name is meant by an unknown one.

use super::keys::KEYS;

/// The key whose path is most like this one.
pub(super) fn key(path: &str) -> &'static str {
    most_alike(path, KEYS.iter().map(|key| key.path))
}

/// The table whose name is most like this one.
pub(super) fn table(name: &str) -> &'static str {
    most_alike(name, KEYS.iter().map(|key| key.table))
}

/// Which of these is most like this one.
pub(super) fn among(name: &str, known: &[&'static str]) -> &'static str {
    most_alike(name, known.iter().copied())
}

fn most_alike(name: &str, known: impl Iterator<Item = &'static str>) -> &'static str {
    known.max_by(|a, b| likeness(name, a).total_cmp(&likeness(name, b))).unwrap_or_default()
}

/// How alike two paths are. A right last step in the wrong table counts too, though less.
fn likeness(one: &str, other: &str) -> f64 {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = strsim::normalized_damerau_levenshtein(one, other);
    let end = strsim::normalized_damerau_levenshtein(&last(one), &last(other));
    whole.max(0.9 * end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_key_that_was_meant() {
        for (slip, meant) in [
            ("http.listn", "http.listen"),
            ("http.allowed_origin", "http.allowed_origins"),
            ("storage.uri", "storage.url"),
            ("session.lifetime", "sessions.lifetime"),
            ("client_secret", "identity.client_secret"),
            ("http.body", "limits.body"),
            ("storage.url_file", "storage.url"),
        ] {
            assert_eq!(key(slip), meant, "{slip}");
        }
    }

    #[test]
    fn a_slip_finds_the_table_that_was_meant() {
        assert_eq!(table("limit"), "limits");
        assert_eq!(table("managment"), "management");
    }
}
