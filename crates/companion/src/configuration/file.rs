//! The configuration file layer.

use super::{
    error::{FILE, KeyError, Source, known_names, known_tables, names_of, nearest_key, similar},
    keys::{KEYS, Key},
    reader::Reader,
};
use serde::Deserialize as _;
use std::{borrow::Cow, io, path::PathBuf};
use toml::{
    Value,
    de::{DeTable, DeValue, ValueDeserializer},
};

/// The file that is read if none is named.
pub const DEFAULT_FILE: &str = "companion.toml";

/// The file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigurationFile {
    /// No file.
    None,
    /// This file, if it exists.
    IfPresent(PathBuf),
    /// This one, which must exist.
    Named(PathBuf),
}

pub(super) fn read(file: &ConfigurationFile, reader: &mut Reader) {
    let (path, required) = match file {
        ConfigurationFile::None => return,
        ConfigurationFile::IfPresent(path) => (path, false),
        ConfigurationFile::Named(path) => (path, true),
    };
    match std::fs::read_to_string(path) {
        Ok(text) => Layer { path, text: &text, reader }.read(),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !required => {}
        Err(error) => reader.errors.push(KeyError::at(
            Source::File(path.clone()),
            FILE,
            format!("cannot be read: {error}"),
            "name a readable file with --config, or begin with `companion config sample > companion.toml`",
        )),
    }
}

struct Layer<'a> {
    path: &'a PathBuf,
    text: &'a str,
    reader: &'a mut Reader,
}

impl Layer<'_> {
    fn read(mut self) {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            // Only the message: the parser's own rendering repeats the line, which may contain a secret.
            self.error(error.span().map_or(0, |span| span.start), FILE, error.message(), SYNTAX);
        }
        if errors.is_empty() {
            self.walk(table.get_ref(), "");
        }
    }

    fn walk(&mut self, table: &DeTable<'_>, prefix: &str) {
        for (name, value) in table {
            let name_as_written = quoted_key(name.get_ref());
            let path = match prefix {
                "" => name_as_written.into_owned(),
                table => format!("{table}.{name_as_written}"),
            };
            let position = name.span().start;
            if let Some(key) = Key::named(&path) {
                let value = Value::deserialize(ValueDeserializer::from(value.clone()));
                // Only an integer beyond 64 bits fails. No key accepts it, and none accepts a fraction.
                let value = value.unwrap_or(Value::Float(f64::INFINITY));
                self.reader.add(key, self.source(position), value);
                continue;
            }
            match (names_of(&path), value.get_ref()) {
                (names, value) if names.is_empty() => {
                    self.unknown(position, &path, matches!(value, DeValue::Table(_)));
                }
                (_, DeValue::Table(inner)) => self.walk(inner, &path),
                (names, _) => {
                    let fix = format!("write [{path}] on a line of its own, and below it {names}");
                    self.error(position, &path, "must be a table", &fix);
                }
            }
        }
    }

    fn unknown(&mut self, position: usize, path: &str, is_table: bool) {
        let (problem, nearest, known) = if is_table && !path.contains('.') {
            let nearest = similar(path, KEYS.iter().map(|key| key.table)).map(|table| format!("[{table}]"));
            ("there is no such table", nearest, known_tables())
        } else {
            ("there is no such key", nearest_key(path).map(|key| key.path.to_owned()), known_names(path))
        };
        let fix = nearest.map_or(known, |nearest| format!("did you mean {nearest}?"));
        self.error(position, path, problem, &fix);
    }

    fn error(&mut self, position: usize, key: &str, problem: &str, fix: &str) {
        let source = self.source(position);
        self.reader.errors.push(KeyError::at(source, key, problem, fix));
    }

    fn source(&self, position: usize) -> Source {
        let before = self.text.as_bytes().iter().take(position);
        Source::Line(self.path.clone(), before.filter(|byte| **byte == b'\n').count() + 1)
    }
}

const SYNTAX: &str = "correct the line; `companion config sample` shows how the file is written";

/// Quotes a key as TOML does, so that a quoted name with a dot is not taken for a path.
fn quoted_key(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(plain) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("\"{name}\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::tests::Given;

    #[test]
    fn accepts_every_toml_syntax_of_tables() {
        for text in ["[http]\nlisten = 'h:1'", "http.listen = 'h:1'", "http = { listen = 'h:1' }"] {
            assert_eq!(Given::file(text).configuration().http.listen.to_string(), "h:1", "{text}");
        }
    }

    #[test]
    fn reports_what_is_unknown_or_misplaced_once_with_a_suggestion() {
        for (text, line, key, fix) in [
            ("# mine\n[http]\nlisten = 'h:1'\nlistn = 'h:2'", 4, "http.listn", "did you mean http.listen?"),
            ("[limit]\nbody = 1\nconnections = 2", 1, "limit", "did you mean [limits]?"),
            ("client_secret = 'x'", 1, "client_secret", "did you mean identity.client_secret?"),
            ("'http.listen' = 'h:1'", 1, "\"http.listen\"", "did you mean http.listen?"),
            ("log = 8080", 1, "log", "write [log] on a line of its own, and below it format, level, access"),
        ] {
            let error = Given::file(text).error();
            assert_eq!((error.key.as_str(), error.fix.as_str()), (key, fix));
            assert!(matches!(error.source, Source::Line(_, found) if found == line), "{error}");
        }
    }

    #[test]
    fn reports_the_line_of_every_syntax_error() {
        let errors = Given::file("[http]\nlisten = \n[log\nlevel = 'info'").errors();
        assert!(errors.iter().any(|error| matches!(error.source, Source::Line(_, 2))), "{errors:?}");
        assert!(errors.iter().any(|error| matches!(error.source, Source::Line(_, 3))), "{errors:?}");
    }
}
