//! The configuration file layer.

use super::{
    error::{FILE, KeyError, Source, known_names, known_tables, nearest_key, nearest_table},
    keys::{KEYS, Key},
    raw::{Raw, Reader},
};
use std::{borrow::Cow, io, path::PathBuf};
use toml::de::{DeTable, DeValue};

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
        Err(error) => reader.errors.push(KeyError {
            source: Source::File(path.clone()),
            key: FILE.to_owned(),
            problem: format!("cannot be read: {error}"),
            fix:
                "name a readable file with --config, or begin with `companion config sample > companion.toml`"
                    .to_owned(),
        }),
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
            self.error(error.span().map_or(0, |span| span.start), FILE, error.message().to_owned(), SYNTAX);
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
                let source = self.source(position);
                self.reader.add(key, source, Raw::from(value));
            } else if is_table(&path) {
                match value.get_ref() {
                    DeValue::Table(inner) => self.walk(inner, &path),
                    _ => self.error(position, &path, "must be a table".to_owned(), &table_advice(&path)),
                }
            } else {
                self.unknown(position, &path, matches!(value.get_ref(), DeValue::Table(_)));
            }
        }
    }

    fn unknown(&mut self, position: usize, path: &str, is_table: bool) {
        if is_table && !path.contains('.') {
            let nearest = nearest_table(path).map(|table| format!("did you mean [{table}]?"));
            let fix = nearest.unwrap_or_else(known_tables);
            self.error(position, path, "there is no such table".to_owned(), &fix);
        } else {
            let nearest = nearest_key(path).map(|key| format!("did you mean {}?", key.path));
            let fix = nearest.unwrap_or_else(|| known_names(path));
            self.error(position, path, "there is no such key".to_owned(), &fix);
        }
    }

    fn error(&mut self, position: usize, key: &str, problem: String, fix: &str) {
        let error =
            KeyError { source: self.source(position), key: key.to_owned(), problem, fix: fix.to_owned() };
        self.reader.errors.push(error);
    }

    fn source(&self, position: usize) -> Source {
        let before = self.text.as_bytes().iter().take(position);
        Source::Line(self.path.clone(), before.filter(|byte| **byte == b'\n').count() + 1)
    }
}

const SYNTAX: &str = "correct the line; `companion config sample` shows how the file is written";

fn is_table(path: &str) -> bool {
    KEYS.iter().any(|key| key.table == path)
}

fn table_advice(table: &str) -> String {
    let names: Vec<_> = KEYS.iter().filter(|key: &&Key| key.table == table).map(|key| key.name).collect();
    format!("write [{table}] on a line of its own, and below it {}", names.join(", "))
}

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
    fn reports_an_unknown_key_with_line_and_suggestion() {
        let error = Given::file("# mine\n[http]\nlisten = 'h:1'\nlistn = 'h:2'").error();
        assert_eq!(error.key, "http.listn");
        assert!(matches!(error.source, Source::Line(_, 4)), "{error}");
        assert_eq!(error.fix, "did you mean http.listen?");
    }

    #[test]
    fn reports_an_unknown_table_once_with_suggestion() {
        let error = Given::file("[limit]\nbody = 1\nconnections = 2").error();
        assert_eq!((error.key.as_str(), error.fix.as_str()), ("limit", "did you mean [limits]?"));
    }

    #[test]
    fn suggests_the_table_of_a_misplaced_key() {
        let error = Given::file("client_secret = 'hunter2'").error();
        assert_eq!(error.fix, "did you mean identity.client_secret?");
        let error = Given::file("'http.listen' = 'h:1'").error();
        assert_eq!(error.key, "\"http.listen\"");
    }

    #[test]
    fn refuses_a_value_in_place_of_a_table() {
        let error = Given::file("http = 8080").error();
        assert_eq!((error.key.as_str(), error.problem.as_str()), ("http", "must be a table"));
    }

    #[test]
    fn reports_the_line_of_every_syntax_error() {
        let errors = Given::file("[http]\nlisten = \n[log\nlevel = 'info'").errors();
        assert!(errors.iter().any(|error| matches!(error.source, Source::Line(_, 2))), "{errors:?}");
        assert!(errors.iter().any(|error| matches!(error.source, Source::Line(_, 3))), "{errors:?}");
    }
}
