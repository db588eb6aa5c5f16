//! The storage URL.

use super::{
    error::ValueError,
    setting::{Setting, text},
};
use companion_domain::model::Secret;
use std::{path::PathBuf, str::FromStr};
use toml::Value;

/// A storage URL. A PostgreSQL URL contains a password, so every storage URL is treated as a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageUrl {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(Secret),
    /// In memory; all data is lost when the program exits.
    Memory,
}

const SCHEMES: &str = "sqlite:PATH, postgres://…, postgresql://… or memory:";

impl FromStr for StorageUrl {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (scheme, rest) =
            text.split_once(':').ok_or_else(|| ValueError::must_be(format_args!("a URL: {SCHEMES}")))?;
        match scheme {
            "sqlite" => sqlite(rest),
            "postgres" | "postgresql" if rest.starts_with("//") => {
                Ok(Self::Postgres(Secret::new(text.to_owned())))
            }
            "postgres" | "postgresql" => {
                Err(ValueError::must_be("a URL like postgres://user:password@host/database"))
            }
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "memory" => Err(ValueError::must_be("exactly memory: with nothing behind it")),
            unknown => Err(unknown_scheme(unknown)),
        }
    }
}

fn sqlite(path: &str) -> Result<StorageUrl, ValueError> {
    match path {
        "" => Err(ValueError::new("lacks the path behind sqlite:")),
        ":memory:" => Err(ValueError::new("names a database in memory; that is memory: here")),
        // After two slashes the first path segment would be a host. Refuse instead of guessing.
        _ if path.starts_with("//") => {
            Err(ValueError::new("has slashes that belong to no path; it is sqlite:PATH"))
        }
        _ => Ok(StorageUrl::Sqlite(path.into())),
    }
}

/// Names the scheme only if it looks like one; otherwise it could be part of a password.
fn unknown_scheme(scheme: &str) -> ValueError {
    let is_scheme = scheme.len() <= 20 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+');
    let named = if is_scheme { format!(" `{scheme}:`") } else { String::new() };
    ValueError::new(format!("has the unknown scheme{named}; known are {SCHEMES}"))
}

impl Setting for StorageUrl {
    const SECRET: bool = true;
    const PATTERN: &str = "^(sqlite:.+|postgres(ql)?://.*|memory:)$";

    fn read(value: &Value) -> Result<Self, ValueError> {
        text(value)?.parse()
    }

    fn show(&self, value: &Value) -> String {
        match self {
            Self::Postgres(_) => "postgres:// (set)".to_owned(),
            Self::Sqlite(_) | Self::Memory => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<StorageUrl>().unwrap_err().to_string()
    }

    #[test]
    fn the_scheme_selects_the_store() {
        assert_eq!("memory:".parse(), Ok(StorageUrl::Memory));
        assert_eq!("sqlite:data/c.db".parse(), Ok(StorageUrl::Sqlite("data/c.db".into())));
        assert_eq!("sqlite:/var/c.db".parse(), Ok(StorageUrl::Sqlite("/var/c.db".into())));
        for url in [
            "postgres://u:p@db/companion",
            "postgresql://db",
            "postgres:///c?host=/run",
            "postgres://u@one:5432,two:5433/c",
            "postgres://u@/c?host=/run",
        ] {
            assert_eq!(url.parse(), Ok(StorageUrl::Postgres(Secret::new(url.to_owned()))));
        }
    }

    #[test]
    fn refuses_unknown_schemes_and_incomplete_urls() {
        assert!(error("mysql://u:hunter2@db/c").starts_with("has the unknown scheme `mysql:`;"));
        assert!(error("companion.db").starts_with("must be a URL: sqlite:PATH"));
        for text in ["sqlite:", "sqlite::memory:", "sqlite://c.db", "postgres:db", "memory", "memory:x", ""] {
            assert!(text.parse::<StorageUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn errors_never_repeat_a_password() {
        for text in ["mysql://u:hunter2@db", "hunter2!@db:5432", "postgres:u:hunter2@db"] {
            assert!(!error(text).contains("hunter2"), "{text}");
        }
        let url: StorageUrl = "postgres://u:hunter2@db/c".parse().unwrap();
        assert!(!url.show(&"hunter2".into()).contains("hunter2") && !format!("{url:?}").contains("hunter2"));
    }
}
