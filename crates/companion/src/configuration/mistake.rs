//! Configuration errors, each with its key, its place and a fix; and which known name an unknown one means.

use super::keys::{KEYS, Key};
use companion_domain::model::Invalid;
use std::{fmt, path::PathBuf};

/// Where a value came from. The order is the order of the layers: a later one wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Built in.
    Default,
    /// The whole configuration file.
    File(PathBuf),
    /// A line of the configuration file, counted from 1.
    Line(PathBuf, usize),
    /// An environment variable.
    Variable(String),
    /// A file that an environment variable names.
    SecretFile(String, PathBuf),
    /// Several values that do not fit together.
    Together,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Line(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::SecretFile(name, path) => write!(f, "{name}, file {}", path.display()),
            Self::Together => f.write_str("taken together"),
        }
    }
}

/// One thing that is wrong. It never repeats the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it was found.
    pub source: Source,
    /// The key, or what stands where a key should.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub fix: String,
}

/// What stands where a key should, where the configuration file as a whole is meant.
pub(super) const FILE: &str = "the configuration file";

impl Mistake {
    /// Whether it may be none once these are put right: a value that was not understood counts as one that is missing.
    pub(super) fn follows_from(&self, mistakes: &[Self]) -> bool {
        let explains = |mistake: &Self| mistake.key == self.key || mistake.key == FILE;
        self.source == Source::Together && mistakes.iter().any(explains)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}\n    fix: {}", self.key, self.source, self.problem, self.fix)
    }
}

impl std::error::Error for Mistake {}

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// These mistakes, in the order of the layers.
    pub(super) fn new(mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by(|a, b| a.source.cmp(&b.source));
        Self(mistakes)
    }

    /// Each of them.
    #[must_use]
    pub fn as_slice(&self) -> &[Mistake] {
        &self.0
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("the configuration has a mistake:")?,
            count => write!(f, "the configuration has {count} mistakes:")?,
        }
        self.0.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
    }
}

/// Why a value was refused: a phrase that follows the key's name. It never repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in these words, for instance `must be text`.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// The value must be this.
    #[must_use]
    pub fn must_be(what: impl fmt::Display) -> Self {
        Self(format!("must be {what}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::must_be(invalid.expected)
    }
}

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
pub(super) fn nearest_key(path: &str) -> Option<&'static Key> {
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
pub(super) fn nearest_table(name: &str) -> Option<&'static str> {
    alike(name, KEYS.iter().map(|key| key.table))
}

/// What to do about a path that is like no key: the keys of its table, or else the tables.
pub(super) fn known_names(path: &str) -> String {
    let (table, _) = path.split_once('.').unwrap_or((path, ""));
    let names: Vec<_> = KEYS.iter().filter(|key| key.table == table).map(|key| key.name).collect();
    if names.is_empty() { known_tables() } else { format!("[{table}] has {}", names.join(", ")) }
}

/// What to do about a table that is like none.
pub(super) fn known_tables() -> String {
    let mut tables: Vec<_> = KEYS.iter().map(|key| key.table).collect();
    tables.dedup();
    format!("the tables are {}; `companion config sample` shows their keys", tables.join(", "))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{load, tests::Given};

    #[test]
    fn all_mistakes_are_told_at_once_in_the_order_of_the_layers() {
        let given = Given::file("[http]\nlisten = 8080\nworker = 2\n[sessions]\nidle = 'soon'")
            .with("COMPANION_LOG__LEVEL", "loud")
            .with("COMPANION_STORAGE__URI", "memory:")
            .with("COMPANION_STORAGE__URL", "mysql://db");
        let keys: Vec<_> = given.mistakes().into_iter().map(|mistake| mistake.key).collect();
        assert_eq!(
            keys,
            ["http.listen", "http.worker", "sessions.idle", "log.level", "storage.uri", "storage.url"]
        );
    }

    #[test]
    fn a_mistake_has_key_place_problem_and_fix() {
        let given = Given::nothing().with("COMPANION_HTTP__LISTEN", "here");
        assert_eq!(
            load(&given.layers).unwrap_err().to_string(),
            "the configuration has a mistake:\n  \
             http.listen (COMPANION_HTTP__LISTEN): must be a host and a port, like 127.0.0.1:8080, [::1]:8080 or \
             localhost:8080\n    \
             fix: write it like COMPANION_HTTP__LISTEN=127.0.0.1:8080"
        );
        let fix = Given::file("[limits]\nbody = 'much'").mistake().fix;
        assert_eq!(fix, "write it like body = \"64 KiB\" in [limits]");
        let fix = Given::nothing().with("COMPANION_LIMITS__BODY", "much").mistake().fix;
        assert_eq!(fix, "write it like COMPANION_LIMITS__BODY='64 KiB'");
    }

    #[test]
    fn no_secret_is_ever_repeated() {
        const SECRET: &str = "hunter2\thunter2";
        for key in KEYS.iter().filter(|key| key.secret) {
            let in_file = Given::file(&format!("[{}]\n{} = '{SECRET}'", key.table, key.name));
            let broken = Given::file(&format!("[{}]\n{} = '{SECRET}", key.table, key.name));
            let in_environment = Given::nothing().with(&key.variable(), SECRET);
            let list = Given::nothing().with(&key.variable(), &format!("['{SECRET}']"));
            let half_a_list = Given::nothing().with(&key.variable(), &format!("['{SECRET}"));
            let secret = Given::nothing();
            let path = secret.write("secret", SECRET);
            let secret = secret.with(&key.file_variable().unwrap(), path.to_str().unwrap());
            for given in [in_file, broken, in_environment, list, half_a_list, secret] {
                let mistakes = load(&given.layers).unwrap_err();
                assert!(!format!("{mistakes} {mistakes:?}").contains("hunter2"), "{mistakes}");
            }
        }
    }

    #[test]
    fn no_secret_is_ever_shown() {
        const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        for (variable, value, secret) in [
            ("COMPANION_SECRETS__KEY", KEY, KEY),
            ("COMPANION_MANAGEMENT__KEY", "['hunter2-hunter2-2', 'hunter2-hunter2-3']", "hunter2"),
            ("COMPANION_IDENTITY__CLIENT_SECRET", "hunter2", "hunter2"),
            ("COMPANION_STORAGE__URL", "postgres://u:hunter2@db/c", "hunter2"),
        ] {
            let loaded = Given::nothing().with(variable, value).loaded();
            assert!(!format!("{loaded:?}").contains(secret), "{variable}");
            assert!(loaded.effective.iter().any(|key| key.value.contains("(set")), "{variable}");
        }
    }

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
            assert_eq!(nearest_key(slip).map(|key| key.path), Some(meant), "{slip}");
        }
    }

    #[test]
    fn what_is_like_no_key_gets_the_keys_of_its_table() {
        for stranger in ["http.compression", "bot.token", "sessions.cookie", "colour"] {
            assert_eq!(nearest_key(stranger).map(|key| key.path), None, "{stranger}");
        }
        assert_eq!(known_names("sessions.cookie"), "[sessions] has lifetime, idle, per_user");
        assert!(
            known_names("colour").starts_with("the tables are http, management, "),
            "{}",
            known_names("colour")
        );
    }

    #[test]
    fn a_slip_finds_the_table_that_was_meant() {
        assert_eq!(nearest_table("limit"), Some("limits"));
        assert_eq!(nearest_table("managment"), Some("management"));
        assert_eq!(nearest_table("webhooks"), None);
    }
}
