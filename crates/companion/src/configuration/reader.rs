//! The reader that converts the values of the layers to the types of their keys.

use super::{
    error::{KeyError, Source},
    keys::Key,
    setting::Setting,
};
use std::collections::HashMap;
use toml::Value;

/// The values of all layers by key.
#[derive(Default)]
pub(super) struct Reader {
    given: HashMap<&'static str, Vec<(Source, Value)>>,
    pub(super) errors: Vec<KeyError>,
    pub(super) effective: Vec<Effective>,
}

/// The effective value of a key in printable form, and its source.
#[derive(Debug)]
pub struct Effective {
    /// The key.
    pub key: &'static Key,
    /// The value, or a placeholder for a secret.
    pub value: String,
    /// The source of the value.
    pub source: Source,
}

impl Reader {
    /// Adds a value of a key. The last one wins.
    pub(super) fn add(&mut self, key: &'static Key, source: Source, value: Value) {
        self.given.entry(key.path).or_default().push((source, value));
    }

    /// Reads a key. Overridden values are checked too, because they take effect once the overriding layer is removed.
    pub(super) fn read<T: Setting>(&mut self, key: &'static Key) -> Option<T> {
        let (mut setting, mut shown, mut origin) = match key.default.value {
            Ok(literal) => {
                let setting = literal.parse().ok().and_then(|value| T::read(&value).ok());
                (setting, literal.to_owned(), Source::Default)
            }
            Err(words) => (T::absent(), format!("({words})"), Source::Default),
        };
        for (source, value) in self.given.remove(key.path).unwrap_or_default() {
            match T::read(&value) {
                Ok(read) => (shown, setting, origin) = (read.show(&value), Some(read), source),
                Err(error) => self.errors.push(KeyError {
                    key: key.path.to_owned(),
                    problem: error.to_string(),
                    fix: key.advice(&source, error.example.as_deref()),
                    source,
                }),
            }
        }
        self.effective.push(Effective { key, value: shown, source: origin });
        setting
    }
}
