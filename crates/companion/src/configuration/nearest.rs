//! Which known name is meant by an unknown one.

use super::{key::Key, keys::KEYS, likeness::alike};

/// What other programs call a key, and what it is called here.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("addr", "listen"),
    ("address", "listen"),
    ("bind", "listen"),
    ("host", "listen"),
    ("port", "listen"),
    ("database", "url"),
    ("file", "url"),
    ("path", "url"),
];

/// The key that is meant by this path. Returns `None` if none is like it.
pub(super) fn key(path: &str) -> Option<&'static Key> {
    let named = |path: &str| KEYS.iter().find(|key| key.path == path);
    called_otherwise(path)
        .as_deref()
        .and_then(named)
        .or_else(|| named(alike(path, KEYS.iter().map(|key| key.path))?))
}

/// The same path with our own name for its last step.
fn called_otherwise(path: &str) -> Option<String> {
    let (table, name) = path.rsplit_once('.')?;
    let (_, ours) = OTHER_NAMES.iter().find(|(other, _)| *other == name)?;
    Some(format!("{table}.{ours}"))
}

/// The table whose name is most like this one. Returns `None` if none is like it.
pub(super) fn table(name: &str) -> Option<&'static str> {
    alike(name, KEYS.iter().map(|key| key.table))
}

/// What to do about a path that is like no key: the keys of its table, or else the tables.
pub(super) fn choice(path: &str) -> String {
    let (table, _) = path.split_once('.').unwrap_or((path, ""));
    let names: Vec<_> = KEYS.iter().filter(|key| key.table == table).map(|key| key.name).collect();
    if names.is_empty() { tables() } else { format!("[{table}] has {}", names.join(", ")) }
}

/// What to do about a table that is like none.
pub(super) fn tables() -> String {
    let mut tables: Vec<_> = KEYS.iter().map(|key| key.table).collect();
    tables.dedup();
    format!("the tables are {}; `companion config sample` shows their keys", tables.join(", "))
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
            ("http.port", "http.listen"),
            ("management.host", "management.listen"),
            ("dashboard.bind", "dashboard.listen"),
            ("storage.path", "storage.url"),
        ] {
            assert_eq!(key(slip).map(|key| key.path), Some(meant), "{slip}");
        }
    }

    #[test]
    fn what_is_like_no_key_gets_the_keys_of_its_table() {
        for stranger in ["http.compression", "bot.token", "sessions.cookie", "colour"] {
            assert_eq!(key(stranger).map(|key| key.path), None, "{stranger}");
        }
        assert_eq!(choice("sessions.cookie"), "[sessions] has lifetime, idle, per_user");
        assert!(choice("colour").starts_with("the tables are http, management, "), "{}", choice("colour"));
    }

    #[test]
    fn a_slip_finds_the_table_that_was_meant() {
        assert_eq!(table("limit"), Some("limits"));
        assert_eq!(table("managment"), Some("management"));
        assert_eq!(table("webhooks"), None);
    }
}
