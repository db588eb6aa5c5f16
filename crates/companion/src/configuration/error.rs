//! Configuration errors, each with its key, source and fix, and suggestions for unknown names.

use super::keys::{KEYS, Key};
use companion_domain::model::Invalid;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The source of a value. The order is that of the layers: a later one wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The built-in default.
    Default,
    /// The whole configuration file.
    File(PathBuf),
    /// A line of the configuration file, counted from 1.
    Line(PathBuf, usize),
    /// An environment variable.
    Variable(String),
    /// A file named by an environment variable.
    SecretFile(String, PathBuf),
    /// Several values that contradict each other.
    Together,
}

impl Source {
    /// Returns the file that contains the value, if any.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Line(path, _) | Self::SecretFile(_, path) => Some(path),
            Self::Default | Self::Variable(_) | Self::Together => None,
        }
    }
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

/// One configuration error. It never repeats the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError {
    /// Where it was found.
    pub source: Source,
    /// The key, or the text in place of a key.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// How to correct it.
    pub fix: String,
}

/// The text in place of a key if the whole configuration file is meant.
pub(super) const FILE: &str = "the configuration file";

impl KeyError {
    /// Creates the error of a value that does not fit others, or the files that it names.
    pub(super) fn together(key: &str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::at(Source::Together, key, problem, fix)
    }

    /// Creates an error of a source.
    pub(super) fn at(source: Source, key: &str, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { source, key: key.to_owned(), problem: problem.into(), fix: fix.into() }
    }

    /// Whether the configuration file cannot be read.
    pub(crate) fn is_of_file(&self) -> bool {
        self.key == FILE
    }

    /// Whether it may disappear once these errors are corrected: an invalid value counts as a missing one.
    pub(super) fn follows_from(&self, errors: &[Self]) -> bool {
        let explains = |error: &Self| error.key == self.key || error.is_of_file();
        self.source == Source::Together && errors.iter().any(explains)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}\n    fix: {}", self.key, self.source, self.problem, self.fix)
    }
}

impl std::error::Error for KeyError {}

/// All errors of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigurationError(Vec<KeyError>);

impl ConfigurationError {
    /// Sorts the errors in the order of the layers.
    pub(super) fn new(mut errors: Vec<KeyError>) -> Self {
        errors.sort_by(|a, b| a.source.cmp(&b.source));
        Self(errors)
    }

    /// Returns the errors.
    #[must_use]
    pub fn as_slice(&self) -> &[KeyError] {
        &self.0
    }
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("the configuration has a mistake:")?,
            count => write!(f, "the configuration has {count} mistakes:")?,
        }
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

/// The reason why a value is invalid, as a phrase that follows the key's name. It never repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct ValueError {
    words: String,
    /// A value to use instead, in TOML syntax. `None` for the example of the key.
    pub(super) example: Option<String>,
}

impl ValueError {
    /// Creates an error from a phrase such as `must be text`.
    pub fn new(words: impl Into<String>) -> Self {
        Self { words: words.into(), example: None }
    }

    /// Creates an error with the phrase "must be …".
    #[must_use]
    pub fn must_be(what: impl fmt::Display) -> Self {
        Self::new(format!("must be {what}"))
    }

    /// Adds the part of the value that is invalid.
    #[must_use]
    pub fn within(self, part: impl fmt::Display) -> Self {
        Self::new(format!("{part} {self}"))
    }

    /// Adds a value to use instead, in TOML syntax.
    #[must_use]
    pub fn with_example(self, example: String) -> Self {
        Self { example: Some(example), ..self }
    }
}

impl From<Invalid> for ValueError {
    fn from(invalid: Invalid) -> Self {
        Self::must_be(invalid.expected)
    }
}

/// Names that other programs use, and the names of the corresponding keys here.
const FOREIGN_NAMES: [(&str, &str); 8] = [
    ("addr", "listen"),
    ("address", "listen"),
    ("bind", "listen"),
    ("host", "listen"),
    ("port", "listen"),
    ("database", "url"),
    ("file", "url"),
    ("path", "url"),
];

/// Returns the key that this path probably means, or `None` if none is similar. Foreign names count as ours.
pub(super) fn nearest_key(path: &str) -> Option<&'static Key> {
    let (table, name) = parts(path);
    let ours = FOREIGN_NAMES.iter().find(|(other, _)| *other == name);
    let ours = ours.and_then(|(_, ours)| Key::named(&format!("{table}.{ours}")));
    ours.or_else(|| Key::named(similar(path, KEYS.iter().map(|key| key.path))?))
}

/// Lists the keys of a table. Returns an empty list if it is unknown.
pub(super) fn names_of(table: &str) -> String {
    let names = KEYS.iter().filter(|key| key.table == table).map(|key| key.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Lists the keys of the path's table, or all tables if it is unknown.
pub(super) fn known_names(path: &str) -> String {
    let (table, _) = path.split_once('.').unwrap_or((path, ""));
    match names_of(table) {
        names if names.is_empty() => known_tables(),
        names => format!("[{table}] has {names}"),
    }
}

/// Lists all tables.
pub(super) fn known_tables() -> String {
    let mut tables: Vec<_> = KEYS.iter().map(|key| key.table).collect();
    tables.dedup();
    format!("the tables are {}; `companion config sample` shows their keys", tables.join(", "))
}

/// Smallest similarity at which a name is suggested.
const MIN_SIMILARITY: f64 = 0.6;

/// Returns the most similar of the known names.
pub(super) fn most_similar(name: &str, known: impl Iterator<Item = &'static str>) -> &'static str {
    known.max_by(|a, b| similarity(name, a).total_cmp(&similarity(name, b))).unwrap_or_default()
}

/// Like [`most_similar`], but `None` if no name is similar enough.
pub(super) fn similar(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    Some(most_similar(name, known)).filter(|found| similarity(name, found) >= MIN_SIMILARITY)
}

/// Returns the similarity of two paths, from 0 to 1. Within a table only the last segment counts; the right last
/// segment in another table counts a little less. A prefix of a name is similar to it.
fn similarity(one: &str, other: &str) -> f64 {
    let ((one_table, one_name), (other_table, other_name)) = (parts(one), parts(other));
    let is_prefix = one_name.starts_with(other_name) || other_name.starts_with(one_name);
    let name = strsim::normalized_damerau_levenshtein(one_name, other_name);
    let name = if is_prefix { name.max(MIN_SIMILARITY) } else { name };
    if one_table == other_table {
        return name;
    }
    strsim::normalized_damerau_levenshtein(one, other).max(0.9 * name)
}

/// Splits a path into its table and its last segment.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{load, tests::Given};

    #[test]
    fn reports_all_errors_in_the_order_of_the_layers() {
        let given = Given::file("[http]\nlisten = 8080\nworker = 2\n[sessions]\nidle = 'soon'")
            .with("COMPANION_LOG__LEVEL", "loud")
            .with("COMPANION_STORAGE__URI", "memory:")
            .with("COMPANION_STORAGE__URL", "mysql://db");
        let keys: Vec<_> = given.errors().into_iter().map(|error| error.key).collect();
        assert_eq!(
            keys,
            ["http.listen", "http.worker", "sessions.idle", "log.level", "storage.uri", "storage.url"]
        );
    }

    #[test]
    fn errors_never_repeat_a_secret() {
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
                let errors = load(&given.layers).unwrap_err();
                assert!(!format!("{errors} {errors:?}").contains("hunter2"), "{errors}");
            }
        }
    }

    #[test]
    fn secrets_are_never_printed() {
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
    fn suggests_the_intended_key() {
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
    fn lists_the_keys_of_the_table_if_none_is_similar() {
        for unknown in ["http.compression", "bot.token", "sessions.cookie", "colour"] {
            assert_eq!(nearest_key(unknown).map(|key| key.path), None, "{unknown}");
        }
        assert_eq!(known_names("sessions.cookie"), "[sessions] has lifetime, idle, per_user");
        assert!(
            known_names("colour").starts_with("the tables are http, management, "),
            "{}",
            known_names("colour")
        );
    }
}
