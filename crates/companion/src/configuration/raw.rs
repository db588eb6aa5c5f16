//! Untyped values of the layers, and the reader that converts them to the types of their keys.

use super::{
    error::{KeyError, Source, ValueError},
    keys::Key,
    setting::Setting,
};
use std::{borrow::Cow, collections::HashMap};
use toml::de::{DeTable, DeValue};

/// An untyped value. It may be a secret, so it does not implement `Debug`.
#[derive(Clone)]
pub enum Raw {
    /// The value of an environment variable. Its key decides whether it is text, a number or a list.
    Word(String),
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// A list.
    List(Vec<Raw>),
    /// A table.
    Table(Vec<(String, Raw)>),
    /// A value that no key accepts, such as a date.
    Foreign,
}

impl Raw {
    /// Parses an inline TOML value.
    pub(super) fn from_toml(text: &str) -> Option<Self> {
        DeValue::parse(text).ok().map(|value| Self::from(value.get_ref()))
    }

    fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str::<serde_json::Value>(text).ok().map(Self::from)
    }

    /// Parses a list or table of an environment variable: inline TOML, or JSON.
    fn parse_inline(word: &str) -> Option<Self> {
        Self::from_toml(word).or_else(|| Self::from_json(word))
    }

    /// Returns the value as text. Fails for numbers in a file; every environment variable is text.
    pub fn text(&self) -> Result<&str, ValueError> {
        match self {
            Self::Word(text) | Self::Text(text) => Ok(text),
            Self::Integer(_) => Err(ValueError::new("must be text; put the number in quotes")),
            Self::Boolean(_) | Self::List(_) | Self::Table(_) | Self::Foreign => {
                Err(ValueError::new("must be text"))
            }
        }
    }

    /// Returns the value as a whole number.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Word(word) => word.parse().ok(),
            Self::Text(_) | Self::Boolean(_) | Self::List(_) | Self::Table(_) | Self::Foreign => None,
        }
    }

    /// Returns the value as a boolean.
    pub fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::Word(word) => word.parse().ok(),
            Self::Text(_) | Self::Integer(_) | Self::List(_) | Self::Table(_) | Self::Foreign => None,
        }
    }

    /// Returns the value as a list.
    pub fn list(&self) -> Option<Cow<'_, [Self]>> {
        match self {
            Self::List(items) => Some(Cow::Borrowed(items)),
            Self::Word(word) => match Self::parse_inline(word)? {
                Self::List(items) => Some(Cow::Owned(items)),
                _ => None,
            },
            Self::Text(_) | Self::Integer(_) | Self::Boolean(_) | Self::Table(_) | Self::Foreign => None,
        }
    }

    /// Returns the value as a table, in no particular order.
    pub fn table(&self) -> Option<Cow<'_, [(String, Self)]>> {
        match self {
            Self::Table(entries) => Some(Cow::Borrowed(entries)),
            Self::Word(word) => match Self::parse_inline(word)? {
                Self::Table(entries) => Some(Cow::Owned(entries)),
                _ => None,
            },
            Self::Text(_) | Self::Integer(_) | Self::Boolean(_) | Self::List(_) | Self::Foreign => None,
        }
    }
}

impl From<&DeValue<'_>> for Raw {
    fn from(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.clone().into_owned()),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).map_or(Self::Foreign, Self::Integer)
            }
            DeValue::Boolean(value) => Self::Boolean(*value),
            DeValue::Array(items) => {
                Self::List(items.iter().map(|item| Self::from(item.get_ref())).collect())
            }
            DeValue::Table(table) => Self::from(table),
            DeValue::Float(_) | DeValue::Datetime(_) => Self::Foreign,
        }
    }
}

impl From<&DeTable<'_>> for Raw {
    fn from(table: &DeTable<'_>) -> Self {
        let entry = |(key, value): (&toml::Spanned<Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
            (key.get_ref().clone().into_owned(), Self::from(value.get_ref()))
        };
        Self::Table(table.iter().map(entry).collect())
    }
}

impl From<serde_json::Value> for Raw {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value;
        match value {
            Value::String(text) => Self::Text(text),
            Value::Number(number) => number.as_i64().map_or(Self::Foreign, Self::Integer),
            Value::Bool(value) => Self::Boolean(value),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => {
                Self::Table(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
            Value::Null => Self::Foreign,
        }
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
                    fix: match &error.example {
                        Some(example) => key.advice_like(&source, example),
                        None => key.advice(&source),
                    },
                    source,
                }),
            }
        }
        self.effective.push(Effective { key, value: shown, source: origin });
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Raw {
        Raw::Word(text.to_owned())
    }

    #[test]
    fn a_variable_has_the_type_of_its_key() {
        assert_eq!(word("123456").text().unwrap(), "123456");
        assert_eq!(word("123456").integer(), Some(123_456));
        assert_eq!(word("true").text().unwrap(), "true");
        assert_eq!(word("true").boolean(), Some(true));
        assert_eq!(word("yes").boolean(), None);
    }

    #[test]
    fn parses_a_list_variable_as_toml_or_json() {
        for text in [r#"["a", "b"]"#, "['a', 'b']", r#"[ "a", "b", ]"#] {
            let list = word(text);
            let list = list.list().unwrap();
            let texts: Vec<_> = list.iter().map(|item| item.text().unwrap()).collect();
            assert_eq!(texts, ["a", "b"], "{text}");
        }
        assert!(word("a").list().is_none());
        assert!(word("[a").list().is_none());
        assert!(word(r#"{"a": 1}"#).list().is_none());
    }

    #[test]
    fn parses_a_table_variable_as_toml_or_json() {
        for text in [r#"{ "https://a.example" = "b" }"#, r#"{"https://a.example": "b"}"#] {
            let table = word(text);
            let table = table.table().unwrap();
            assert_eq!(table[0].0, "https://a.example", "{text}");
            assert_eq!(table[0].1.text().unwrap(), "b", "{text}");
        }
        assert!(word("[1]").table().is_none());
    }

    #[test]
    fn a_number_in_a_file_is_not_text() {
        let error = Raw::from_toml("123456").unwrap().text().unwrap_err();
        assert_eq!(error.to_string(), "must be text; put the number in quotes");
    }

    #[test]
    fn parses_numbers_in_every_toml_notation() {
        for (text, number) in [("1_000", Some(1000)), ("0x10", Some(16)), ("1.5", None), ("\"7\"", None)] {
            assert_eq!(Raw::from_toml(text).unwrap().integer(), number, "{text}");
        }
    }
}
