//! The trait of types that a key can have, and its plain implementations: numbers, sizes, text and choices.

use super::{
    addresses::{AddressRange, ListenAddress},
    error::{ValueError, most_similar},
};
use companion_domain::model::{Name, Span, WebUrl};
use companion_http::Origin;
use serde_json::json;
use std::{fmt, num::NonZeroU32, path::PathBuf};
use toml::Value;
use tracing_subscriber::filter::LevelFilter;

/// The type of a key.
pub trait Setting: Sized {
    /// Whether the value must never be shown. Such a value can also be read from a file that a variable names.
    const SECRET: bool = false;

    /// The regular expression of text in a file.
    const PATTERN: &str = ".";

    /// Parses a value. The error never repeats it, because it may be a secret.
    fn read(value: &Value) -> Result<Self, ValueError>;

    /// Returns the value in TOML syntax, or a placeholder for a secret.
    fn show(&self, value: &Value) -> String {
        if Self::SECRET { "(set)".to_owned() } else { value.to_string() }
    }

    /// Returns the JSON Schema of values in a file. It may accept more than [`read`](Self::read) does, but never less.
    /// The default is text of the pattern.
    #[must_use]
    fn schema() -> serde_json::Value {
        json!({"type": "string", "pattern": Self::PATTERN})
    }

    /// Returns the value of an unset key, or `None` for types that cannot be absent.
    fn absent() -> Option<Self> {
        None
    }
}

/// Quotes text in TOML syntax.
pub(super) fn quoted(text: &impl fmt::Display) -> String {
    Value::String(text.to_string()).to_string()
}

/// Returns a value as text.
pub(super) fn text(value: &Value) -> Result<&str, ValueError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Integer(_) => Err(ValueError::new("must be text; put the number in quotes")),
        _ => Err(ValueError::new("must be text")),
    }
}

/// Reads each entry of a table, by name. Errors name the entry.
pub(super) fn entries<T>(
    value: &Value,
    what: &str,
    read: impl Fn(&str, &Value) -> Result<T, ValueError>,
) -> Result<Vec<T>, ValueError> {
    let entries = value.as_table().ok_or_else(|| ValueError::must_be(what))?;
    let entries = entries.iter().map(|(name, value)| {
        read(name, value).map_err(|error| error.within(format_args!("entry \"{name}\"")))
    });
    entries.collect()
}

/// Returns the fields of a table in the order of `names`. Fails if it has others.
pub(super) fn fields<'a, const N: usize>(
    value: &'a Value,
    what: &str,
    names: [&'static str; N],
) -> Result<[Option<&'a Value>; N], ValueError> {
    let table = value.as_table().ok_or_else(|| ValueError::must_be(what))?;
    if let Some(name) = table.keys().find(|name| !names.contains(&name.as_str())) {
        let meant = most_similar(name, names.into_iter());
        return Err(ValueError::new(format!("has no {name}; did you mean {meant}?")));
    }
    Ok(names.map(|name| table.get(name)))
}

impl<T: Setting> Setting for Option<T> {
    const SECRET: bool = T::SECRET;

    fn read(value: &Value) -> Result<Self, ValueError> {
        T::read(value).map(Some)
    }

    fn show(&self, value: &Value) -> String {
        self.as_ref().map(|setting| setting.show(value)).unwrap_or_default()
    }

    fn schema() -> serde_json::Value {
        T::schema()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Setting> Setting for Vec<T> {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let items = value.as_array().ok_or_else(|| ValueError::must_be("a list, in square brackets"))?;
        let each = items.iter().enumerate().map(|(place, item)| {
            T::read(item).map_err(|error| error.within(format_args!("entry {}", place + 1)))
        });
        each.collect()
    }

    fn schema() -> serde_json::Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl Setting for bool {
    fn read(value: &Value) -> Result<Self, ValueError> {
        value.as_bool().ok_or_else(|| ValueError::must_be("true or false"))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "boolean"})
    }
}

impl Setting for NonZeroU32 {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok()).and_then(Self::new);
        number.ok_or_else(|| ValueError::must_be(format_args!("a whole number from 1 to {}", u32::MAX)))
    }

    fn schema() -> serde_json::Value {
        json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
    }
}

/// Parses text of at most this many characters on one line, which is not blank. Drops space around it.
pub(super) fn line(value: &Value, most: usize) -> Result<Name, ValueError> {
    let text = text(value)?.trim();
    let fits = text.chars().count() <= most && !text.chars().any(char::is_control);
    let line = text.parse().ok().filter(|_| fits);
    line.ok_or_else(|| ValueError::must_be(format_args!("text of 1 to {most} characters on one line")))
}

/// Implements [`Setting`] for types that parse from text of the given pattern.
macro_rules! text_settings {
    ($($type:ty = $pattern:literal),+) => {$(
        impl Setting for $type {
            const PATTERN: &str = $pattern;

            fn read(value: &Value) -> Result<Self, ValueError> {
                text(value)?.parse().map_err(ValueError::from)
            }
        }
    )+};
}

text_settings!(
    Name = ".",
    Span = "^[0-9]+(ms|s|m|h|d)$",
    WebUrl = "^[hH][tT][tT][pP][sS]?://.",
    ListenAddress = "^.+:[0-9]+$",
    AddressRange = "^[0-9A-Fa-f:.]+(/[0-9]+)?$",
    Origin = "^https?://[^/]+$"
);

/// A number of bytes, with or without a unit: `65536`, `64 KiB`, `1 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(usize);

/// Upper bound, so that a buffer of this size fits into memory.
const MAX_BYTES: u64 = 1 << 30;

impl ByteSize {
    /// Returns the number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl Setting for ByteSize {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let bytes = match value {
            Value::Integer(bytes) => u64::try_from(*bytes).ok(),
            Value::String(text) => text.parse::<bytesize::ByteSize>().ok().map(|size| size.as_u64()),
            _ => None,
        };
        let bytes = bytes.filter(|bytes| (1..=MAX_BYTES).contains(bytes));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).map(Self).ok_or_else(|| {
            ValueError::must_be("a number of bytes, like 65536 or \"64 KiB\" (B, KiB, MiB, GiB), up to 1 GiB")
        })
    }

    fn schema() -> serde_json::Value {
        json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_BYTES}, {"type": "string", "pattern": "^[0-9]"}]})
    }
}

/// A client id: printable text, even if it looks like a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(String);

impl ClientId {
    /// Returns the id as the platform issued it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for ClientId {
    const PATTERN: &str = "^[!-~]+$";

    fn read(value: &Value) -> Result<Self, ValueError> {
        let text = text(value)?;
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ValueError::must_be("printable text without spaces"))
        }
    }
}

/// Text on one line, of at most this many characters, and not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<const MAX: usize>(pub Name);

impl<const MAX: usize> Setting for Line<MAX> {
    fn read(value: &Value) -> Result<Self, ValueError> {
        line(value, MAX).map(Self)
    }
}

/// The path of a file, relative to the working directory.
impl Setting for PathBuf {
    fn read(value: &Value) -> Result<Self, ValueError> {
        let path = text(value)?;
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(ValueError::must_be("the path of a file"));
        }
        Ok(path.into())
    }
}

/// Implements [`Setting`] for types with a few values, each written as a word.
macro_rules! choices {
    ($($type:ty { $($word:literal => $value:expr),+ })+) => {$(
        impl Setting for $type {
            fn read(value: &Value) -> Result<Self, ValueError> {
                let words = [$($word),+];
                match text(value)? {
                    $($word => Ok($value),)+
                    _ if words.len() == 1 => Err(ValueError::must_be(words.concat())),
                    _ => Err(ValueError::must_be(format_args!("one of {}", words.join(", ")))),
                }
            }

            fn schema() -> serde_json::Value {
                json!({"type": "string", "enum": [$($word),+]})
            }
        }
    )+};
}

choices! {
    Provider { "discord" => Self::Discord }
    LogFormat { "human" => Self::Human, "json" => Self::Json }
    LevelFilter {
        "error" => Self::ERROR, "warn" => Self::WARN, "info" => Self::INFO, "debug" => Self::DEBUG, "trace" => Self::TRACE
    }
}

/// A chat platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Discord.
    Discord,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Human,
    /// One JSON object per line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Setting>(toml: &str) -> Result<T, String> {
        T::read(&toml.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn reports_the_invalid_entry_of_a_list() {
        let error = read::<Vec<WebUrl>>(r#"["https://a.example", "b"]"#).unwrap_err();
        assert!(error.starts_with("entry 2 must be an absolute http or https URL"), "{error}");
        assert_eq!(read::<Vec<Name>>("\"x\"").unwrap_err(), "must be a list, in square brackets");
    }

    #[test]
    fn refuses_numbers_out_of_range_and_without_a_unit() {
        assert_eq!(read::<NonZeroU32>("10").unwrap().get(), 10);
        for text in ["0", "-1", "4294967296", "1.5", "\"10\""] {
            assert_eq!(read::<NonZeroU32>(text).unwrap_err(), "must be a whole number from 1 to 4294967295");
        }
        assert_eq!(read::<Span>("60"), Err("must be text; put the number in quotes".to_owned()));
        assert!(read::<Span>("'0s'").unwrap_err().starts_with("must be a number and a unit"));
    }

    #[test]
    fn parses_sizes_with_and_without_unit_up_to_1_gib() {
        for (toml, bytes) in [
            ("65536", 65_536),
            ("\"65536\"", 65_536),
            ("\"64 KiB\"", 65_536),
            ("\"64KiB\"", 65_536),
            ("\"1 GiB\"", 1 << 30),
            ("\"64 kB\"", 64_000),
            ("\"1.5 MiB\"", 1_572_864),
        ] {
            assert_eq!(read::<ByteSize>(toml).unwrap().bytes(), bytes, "{toml}");
        }
        for toml in ["0", "-1", "1073741825", "\"2 GiB\"", "\"64 parsecs\"", "\"KiB\"", "\"\"", "true", "1.5"]
        {
            assert!(read::<ByteSize>(toml).is_err(), "{toml}");
        }
    }

    #[test]
    fn refuses_long_blank_and_multiline_display_names() {
        let read = |text: &str| Line::<64>::read(&text.into()).is_ok();
        assert!(read("Night Watch") && read(&"ä".repeat(64)));
        for refused in ["", "  ", "a\nb", "\u{7f}", &"a".repeat(65)] {
            assert!(!read(refused), "{refused:?}");
        }
    }

    #[test]
    fn lists_the_valid_words_for_an_invalid_one() {
        let error = read::<LevelFilter>("'loud'").unwrap_err();
        assert_eq!(error, "must be one of error, warn, info, debug, trace");
        assert_eq!(read::<Provider>("'x'").unwrap_err(), "must be discord");
        assert_eq!(read("'json'"), Ok(LogFormat::Json));
    }
}
