//! Untyped values of the layers, and the reader that converts them to the types of their keys.

use super::{
    error::{KeyError, Source, ValueError, most_similar},
    keys::Key,
    setting::Setting,
};
use serde::Deserialize as _;
use std::collections::HashMap;
use toml::{
    Spanned, Value,
    de::{DeValue, ValueDeserializer},
};

/// An untyped value. It may be a secret, so it does not implement `Debug`.
#[derive(Clone)]
pub enum Raw {
    /// Text of an environment variable or a key file. Its key decides whether it is text, a number or a list.
    Word(String),
    /// A value of the configuration file.
    Value(Value),
}

impl Raw {
    /// Parses an inline TOML value.
    pub(super) fn from_toml(text: &str) -> Option<Self> {
        text.parse().ok().map(Self::Value)
    }

    /// Returns the value as text. Fails for numbers in a file; every environment variable is text.
    pub fn text(&self) -> Result<&str, ValueError> {
        match self {
            Self::Word(text) | Self::Value(Value::String(text)) => Ok(text),
            Self::Value(Value::Integer(_)) => Err(ValueError::new("must be text; put the number in quotes")),
            Self::Value(_) => Err(ValueError::new("must be text")),
        }
    }

    /// Returns the value as a whole number.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Word(word) => word.parse().ok(),
            Self::Value(value) => value.as_integer(),
        }
    }

    /// Returns the value as a boolean.
    pub fn boolean(&self) -> Option<bool> {
        match self {
            Self::Word(word) => word.parse().ok(),
            Self::Value(value) => value.as_bool(),
        }
    }

    /// Returns the value as a list.
    pub fn list(&self) -> Option<Vec<Self>> {
        match self.parsed()? {
            Value::Array(items) => Some(items.into_iter().map(Self::Value).collect()),
            _ => None,
        }
    }

    /// Returns the value as a table, by name.
    pub fn table(&self) -> Option<Vec<(String, Self)>> {
        match self.parsed()? {
            Value::Table(entries) => {
                Some(entries.into_iter().map(|(name, value)| (name, Self::Value(value))).collect())
            }
            _ => None,
        }
    }

    /// Reads each entry of a table, by name. Errors name the entry.
    pub(super) fn entries<T>(
        &self,
        what: &str,
        read: impl Fn(&str, &Self) -> Result<T, ValueError>,
    ) -> Result<Vec<T>, ValueError> {
        let entries = self.table().ok_or_else(|| ValueError::must_be(what))?;
        let entries = entries.iter().map(|(name, raw)| {
            read(name, raw).map_err(|error| error.within(format_args!("entry \"{name}\"")))
        });
        entries.collect()
    }

    /// Returns the fields of a table in the order of `names`. Fails if it has others.
    pub(super) fn fields<const N: usize>(
        &self,
        what: &str,
        names: [&'static str; N],
    ) -> Result<[Option<Self>; N], ValueError> {
        let mut table = self.table().ok_or_else(|| ValueError::must_be(what))?;
        if let Some((name, _)) = table.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            let meant = most_similar(name, names.into_iter());
            return Err(ValueError::new(format!("has no {name}; did you mean {meant}?")));
        }
        Ok(names.map(|name| {
            let place = table.iter().position(|(known, _)| known == name)?;
            Some(table.swap_remove(place).1)
        }))
    }

    /// Parses a list or table of an environment variable: inline TOML, or JSON.
    fn parsed(&self) -> Option<Value> {
        match self {
            Self::Word(word) => word.parse().ok().or_else(|| serde_json::from_str(word).ok()),
            Self::Value(value) => Some(value.clone()),
        }
    }
}

impl From<&Spanned<DeValue<'_>>> for Raw {
    fn from(value: &Spanned<DeValue<'_>>) -> Self {
        let value = Value::deserialize(ValueDeserializer::from(value.clone()));
        // Only an integer beyond 64 bits fails. No key accepts it, and none accepts a fraction.
        Self::Value(value.unwrap_or(Value::Float(f64::INFINITY)))
    }
}

/// The values of all layers by key.
#[derive(Default)]
pub(super) struct Reader {
    given: HashMap<&'static str, Vec<(Source, Raw)>>,
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
    pub(super) fn add(&mut self, key: &'static Key, source: Source, raw: Raw) {
        self.given.entry(key.path).or_default().push((source, raw));
    }

    /// Reads a key. Overridden values are checked too, because they take effect once the overriding layer is removed.
    pub(super) fn read<T: Setting>(&mut self, key: &'static Key) -> Option<T> {
        let (mut value, mut shown, mut origin) = match key.without_a_value() {
            Ok(literal) => {
                let value = Raw::from_toml(literal).and_then(|raw| T::read(&raw).ok());
                (value, literal.to_owned(), Source::Default)
            }
            Err(words) => (T::absent(), format!("({words})"), Source::Default),
        };
        for (source, raw) in self.given.remove(key.path).unwrap_or_default() {
            match T::read(&raw) {
                Ok(read) => (shown, value, origin) = (read.show(), Some(read), source),
                Err(error) => self.errors.push(KeyError {
                    key: key.path.to_owned(),
                    problem: error.to_string(),
                    fix: key.advice(&source, error.example.as_deref()),
                    source,
                }),
            }
        }
        self.effective.push(Effective { key, value: shown, source: origin });
        value
    }
}
