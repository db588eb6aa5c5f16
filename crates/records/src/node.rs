//! A value in a JSON document with its path, and the errors found while reading.

use companion_domain::model::{FieldError, Invalid, Timestamp};
use serde_json::{Map, Value};
use std::{fmt, str::FromStr};

/// Maximum length of a name in an error, in characters.
const MAX_NAME_LENGTH: usize = 64;

/// The invalid fields found so far.
#[derive(Debug, Default)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Records an invalid field, up to [`FieldError::MAX_REPORTED`].
    pub fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        if self.0.len() < FieldError::MAX_REPORTED {
            self.0.push(FieldError::new(path.to_string(), message));
        }
    }

    /// Returns the root of a document. Records an error if it is not JSON.
    pub fn document<'v>(
        &mut self,
        document: &'v Result<Value, serde_json::Error>,
    ) -> Option<Node<'v, 'static>> {
        let not_json = |error: &serde_json::Error| self.add(&Path::Root, not_json(error));
        document.as_ref().map_err(not_json).ok().map(Node::root)
    }

    /// Returns these errors, then others, up to [`FieldError::MAX_REPORTED`].
    pub(crate) fn followed_by(self, others: Vec<FieldError>) -> Vec<FieldError> {
        self.0.into_iter().chain(others).take(FieldError::MAX_REPORTED).collect()
    }

    /// Returns what was read, unless an error was recorded.
    pub fn unless_any<T>(self, read: Option<T>) -> Result<T, Vec<FieldError>> {
        match read {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }
}

/// Describes why the input is not JSON. Omits line 1, since each line of a stream is a document of its own.
fn not_json(error: &serde_json::Error) -> String {
    format!("is not JSON: {}", error.to_string().replace(" at line 1 column ", " at column "))
}

/// The path of a value: `roles.MOD[2]`. Built on the stack while reading, and formatted only for an error.
#[derive(Debug, Clone, Copy)]
pub enum Path<'p> {
    /// The whole document.
    Root,
    /// A field of an object.
    Field(&'p Path<'p>, &'p str),
    /// An item of a list.
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Path::Root, name) => f.write_str(shortened(name)),
            Self::Field(parent, name) => write!(f, "{parent}.{}", shortened(name)),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Truncates a name: a caller can send one as long as a body.
fn shortened(name: &str) -> &str {
    name.char_indices().nth(MAX_NAME_LENGTH).map_or(name, |(end, _)| name.get(..end).unwrap_or_default())
}

/// A value and its path.
#[derive(Clone, Copy)]
pub struct Node<'v, 'p> {
    /// The value.
    pub value: &'v Value,
    /// Its path.
    pub path: Path<'p>,
}

impl<'v, 'p> Node<'v, 'p> {
    /// Creates the root of a document.
    pub fn root(value: &'v Value) -> Self {
        Self { value, path: Path::Root }
    }

    /// Reads text that parses as `T`.
    pub fn text<T: FromStr<Err = Invalid>>(self, errors: &mut FieldErrors) -> Option<T> {
        let Some(text) = self.value.as_str() else { return self.refuse(errors, "must be text") };
        self.accept(text.parse(), errors)
    }

    /// Reads an integer as a `T`. `3.0` is an integer too, since JSON has a single number type.
    pub fn integer<T>(
        self,
        make: impl FnOnce(i64) -> Result<T, Invalid>,
        errors: &mut FieldErrors,
    ) -> Option<T> {
        let whole = self.value.as_i64().or_else(|| self.value.as_f64().and_then(integral_float));
        let Some(number) = whole else { return self.refuse(errors, "must be a whole number") };
        self.accept(make(number), errors)
    }

    /// Reads a number as a `T`.
    pub fn number<T>(
        self,
        make: impl FnOnce(f64) -> Result<T, Invalid>,
        errors: &mut FieldErrors,
    ) -> Option<T> {
        let Some(number) = self.value.as_f64() else { return self.refuse(errors, "must be a number") };
        self.accept(make(number), errors)
    }

    /// Reads seconds since 1970; a fraction is dropped.
    pub fn seconds(self, errors: &mut FieldErrors) -> Option<Timestamp> {
        self.number(|seconds| Timestamp::from_seconds(seconds.floor() as i64), errors)
    }

    /// Reads a boolean.
    pub fn boolean(self, errors: &mut FieldErrors) -> Option<bool> {
        self.value.as_bool().or_else(|| self.refuse(errors, "must be true or false"))
    }

    /// Reads a list, each item with `read`.
    pub fn list<T>(
        self,
        errors: &mut FieldErrors,
        mut read: impl FnMut(Node<'v, '_>, &mut FieldErrors) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Some(items) = self.value.as_array() else { return self.refuse(errors, "must be a list") };
        // Every item is read, so that every error is recorded.
        let mut read_items = Vec::with_capacity(items.len());
        for (index, value) in items.iter().enumerate() {
            read_items.push(read(Node { value, path: Path::Item(&self.path, index) }, errors));
        }
        read_items.into_iter().collect()
    }

    /// Reads a map, each entry with `read` and its key.
    pub fn map<T>(
        self,
        errors: &mut FieldErrors,
        mut read: impl FnMut(&str, Node<'v, '_>, &mut FieldErrors) -> Option<T>,
    ) -> Option<Vec<T>> {
        let map = self.object(errors)?;
        let mut entries = Vec::with_capacity(map.len());
        for (key, value) in map {
            entries.push(read(key, Node { value, path: Path::Field(&self.path, key) }, errors));
        }
        entries.into_iter().collect()
    }

    /// Returns the fields of an object.
    pub fn fields<'n>(&'n self, errors: &mut FieldErrors) -> Option<Fields<'v, 'n>> {
        let map = self.object(errors)?;
        // The key is known as well, and may be in the path only.
        Some(Fields { map, path: &self.path, known: Vec::with_capacity(map.len() + 1) })
    }

    /// Records an error at this path.
    pub fn refuse<T>(self, errors: &mut FieldErrors, message: impl Into<String>) -> Option<T> {
        errors.add(&self.path, message);
        None
    }

    fn object(self, errors: &mut FieldErrors) -> Option<&'v Map<String, Value>> {
        self.value.as_object().or_else(|| self.refuse(errors, "must be an object"))
    }

    /// Returns the parsed value, or records what is expected here.
    pub fn accept<T>(self, parsed: Result<T, Invalid>, errors: &mut FieldErrors) -> Option<T> {
        parsed.map_err(|invalid| errors.add(&self.path, format!("must be {}", invalid.expected))).ok()
    }
}

/// Converts a float without a fraction. One that is too large saturates at a value that is rejected everywhere.
fn integral_float(number: f64) -> Option<i64> {
    (number.fract() == 0.0).then_some(number as i64)
}

/// The fields of an object. Tracks which were read.
pub struct Fields<'v, 'p> {
    map: &'v Map<String, Value>,
    path: &'p Path<'p>,
    known: Vec<&'static str>,
}

impl<'v, 'p> Fields<'v, 'p> {
    /// Returns a field that may be absent.
    pub fn optional(&mut self, name: &'static str) -> Option<Node<'v, 'p>> {
        self.known.push(name);
        self.map.get(name).map(|value| Node { value, path: Path::Field(self.path, name) })
    }

    /// Returns a field, or records that it is missing.
    pub fn required(&mut self, name: &'static str, errors: &mut FieldErrors) -> Option<Node<'v, 'p>> {
        self.optional(name).or_else(|| self.missing(name, errors))
    }

    /// Records that a field is missing.
    pub(crate) fn missing<T>(&self, name: &'static str, errors: &mut FieldErrors) -> Option<T> {
        self.refuse(name, "is missing", errors)
    }

    /// Records an error of a field.
    pub(crate) fn refuse<T>(
        &self,
        name: &str,
        message: impl Into<String>,
        errors: &mut FieldErrors,
    ) -> Option<T> {
        errors.add(&Path::Field(self.path, name), message);
        None
    }

    /// Records an error for every field that was not requested.
    pub fn finish(self, errors: &mut FieldErrors) {
        for unknown in self.map.keys().filter(|key| !self.known.contains(&key.as_str())) {
            let known = self.known.join(", ");
            errors.add(&Path::Field(self.path, unknown), format!("is not known here; known are {known}"));
        }
    }
}
