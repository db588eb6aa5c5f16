//! Which known name is meant by an unknown one.

use super::{keys::KEYS, likeness::most_alike};

/// The key whose path is most like this one.
pub(super) fn key(path: &str) -> &'static str {
    most_alike(path, KEYS.iter().map(|key| key.path))
}

/// The table whose name is most like this one.
pub(super) fn table(name: &str) -> &'static str {
    most_alike(name, KEYS.iter().map(|key| key.table))
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
