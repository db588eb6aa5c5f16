//! The trait of types that a key can have, and its plain implementations: numbers, sizes, text and choices.

use super::{
    addresses::{AddressRange, ListenAddress},
    error::ValueError,
    raw::Raw,
};
use companion_domain::model::{Name, Span, WebUrl};
use companion_http::Origin;
use serde_json::{Value, json};
use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

/// The type of a key.
pub trait Setting: Sized {
    /// Whether the value must never be shown. Such a value can also be read from a file that a variable names.
    const SECRET: bool = false;

    /// The regular expression of text in a file.
    const PATTERN: &str = ".";

    /// Parses a value.
    fn read(raw: &Raw) -> Result<Self, ValueError>;

    /// Returns the value in TOML syntax. The default is the placeholder for a secret.
    fn show(&self) -> String {
        "(set)".to_owned()
    }

    /// Returns the JSON Schema of values in a file. It may accept more than [`read`](Self::read) does, but never less.
    /// The default is text of the pattern.
    #[must_use]
    fn schema() -> Value {
        json!({"type": "string", "pattern": Self::PATTERN})
    }

    /// Returns the value of an unset key, or `None` for types that cannot be absent.
    fn absent() -> Option<Self> {
        None
    }
}

/// Quotes text in TOML syntax.
pub(super) fn quoted(text: &impl fmt::Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

impl<T: Setting> Setting for Option<T> {
    const SECRET: bool = T::SECRET;

    fn read(raw: &Raw) -> Result<Self, ValueError> {
        T::read(raw).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map(Setting::show).unwrap_or_default()
    }

    fn schema() -> Value {
        T::schema()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Setting> Setting for Vec<T> {
    const SECRET: bool = T::SECRET;

    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let items = raw.list().ok_or_else(|| ValueError::must_be("a list, in square brackets"))?;
        let each = items.iter().enumerate().map(|(place, item)| {
            T::read(item).map_err(|error| error.within(format_args!("entry {}", place + 1)))
        });
        each.collect()
    }

    fn show(&self) -> String {
        show_list(self.iter().map(Setting::show))
    }

    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl Setting for bool {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        raw.boolean().ok_or_else(|| ValueError::must_be("true or false"))
    }

    fn schema() -> Value {
        json!({"type": "boolean"})
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for NonZeroU32 {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let number = raw.integer().and_then(|number| u32::try_from(number).ok()).and_then(Self::new);
        number.ok_or_else(|| ValueError::must_be(format_args!("a whole number from 1 to {}", u32::MAX)))
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for NonZeroUsize {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        NonZeroU32::read(raw)
            .and_then(|number| Self::try_from(number).map_err(|_| ValueError::must_be("a smaller number")))
    }

    fn schema() -> Value {
        NonZeroU32::schema()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// Lists values in TOML syntax.
pub(super) fn show_list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// Shows a table of entries in TOML syntax.
pub(super) fn show_table(entries: impl Iterator<Item = String>) -> String {
    let entries = entries.collect::<Vec<_>>().join(", ");
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {entries} }}") }
}

/// Reads text of at most this many characters on one line, which is not blank. Drops space around it.
pub(super) fn line(raw: &Raw, most: usize) -> Result<Name, ValueError> {
    let text = raw.text()?.trim();
    let fits = text.chars().count() <= most && !text.chars().any(char::is_control);
    let line = text.parse().ok().filter(|_| fits);
    line.ok_or_else(|| ValueError::must_be(format_args!("text of 1 to {most} characters on one line")))
}

/// Implements [`Setting`] for types that parse from and display as text of the given pattern.
macro_rules! text_settings {
    ($($type:ty = $pattern:literal),+) => {$(
        impl Setting for $type {
            const PATTERN: &str = $pattern;

            fn read(raw: &Raw) -> Result<Self, ValueError> {
                raw.text()?.parse().map_err(ValueError::from)
            }

            fn show(&self) -> String {
                quoted(self)
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

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// Upper bound, so that a buffer of this size fits into memory.
const MAX_BYTES: u64 = 1 << 30;

impl ByteSize {
    /// Returns the number of bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl fmt::Display for ByteSize {
    /// Writes the value in the largest unit that needs no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as u64;
        let (unit, length) =
            UNITS.iter().find(|(_, length)| bytes.is_multiple_of(*length)).unwrap_or(&("B", 1));
        write!(f, "{} {unit}", bytes / length)
    }
}

impl Setting for ByteSize {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let bytes = match raw.integer() {
            Some(bytes) => u64::try_from(bytes).ok(),
            None => raw.text().ok().and_then(|text| Some(text.parse::<bytesize::ByteSize>().ok()?.as_u64())),
        };
        let bytes = bytes.filter(|bytes| (1..=MAX_BYTES).contains(bytes));
        bytes.and_then(|bytes| usize::try_from(bytes).ok()).map(Self).ok_or_else(|| {
            ValueError::must_be("a number of bytes, like 65536 or \"64 KiB\" (B, KiB, MiB, GiB), up to 1 GiB")
        })
    }

    fn schema() -> Value {
        json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_BYTES}, {"type": "string", "pattern": "^[0-9]"}]})
    }

    fn show(&self) -> String {
        quoted(self)
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

    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let text = raw.text()?;
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ValueError::must_be("printable text without spaces"))
        }
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// Text on one line, of at most this many characters, and not blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<const MAX: usize>(pub Name);

impl<const MAX: usize> Setting for Line<MAX> {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        line(raw, MAX).map(Self)
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The path of a file, relative to the working directory.
impl Setting for PathBuf {
    fn read(raw: &Raw) -> Result<Self, ValueError> {
        let path = raw.text()?;
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(ValueError::must_be("the path of a file"));
        }
        Ok(path.into())
    }

    fn show(&self) -> String {
        quoted(&self.display())
    }
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$what])* $variant),+
        }

        impl Setting for $name {
            fn read(raw: &Raw) -> Result<Self, ValueError> {
                let words = [$($word),+];
                match raw.text()? {
                    $($word => Ok(Self::$variant),)+
                    _ if words.len() == 1 => Err(ValueError::must_be(words.concat())),
                    _ => Err(ValueError::must_be(format_args!("one of {}", words.join(", ")))),
                }
            }

            fn schema() -> Value {
                json!({"enum": [$($word),+]})
            }

            fn show(&self) -> String {
                match self { $(Self::$variant => quoted(&$word)),+ }
            }
        }
    };
}

choice!(
    /// A chat platform.
    Provider {
        /// Discord.
        Discord = "discord",
    }
);

choice!(
    /// The format of the log.
    LogFormat {
        /// Lines for people.
        Human = "human",
        /// One JSON object per line.
        Json = "json",
    }
);

choice!(
    /// The least severe level that is logged.
    LogLevel {
        /// Failures.
        Error = "error",
        /// Conditions that may lead to failures.
        Warn = "warn",
        /// Events that concern the operator.
        Info = "info",
        /// Events that concern developers.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Setting>(toml: &str) -> Result<T, String> {
        T::read(&Raw::from_toml(toml).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn parses_durations_as_number_and_unit() {
        for (text, seconds) in [("1s", 1.0), ("500ms", 0.5), ("24h", 86_400.0), ("30d", 2_592_000.0)] {
            let span: Span = read(&quoted(&text)).unwrap();
            assert_eq!(span.get().as_secs_f64(), seconds);
            assert_eq!(read::<Span>(&span.show()), Ok(span));
        }
        for text in ["\"5 minutes\"", "\"0s\"", "\"-1s\"", "\"\""] {
            assert!(read::<Span>(text).unwrap_err().starts_with("must be a number and a unit"), "{text}");
        }
        assert_eq!(read::<Span>("60"), Err("must be text; put the number in quotes".to_owned()));
    }

    #[test]
    fn reports_the_invalid_entry_of_a_list() {
        let error = read::<Vec<WebUrl>>(r#"["https://a.example", "b"]"#).unwrap_err();
        assert!(error.starts_with("entry 2 must be an absolute http or https URL"), "{error}");
        assert_eq!(read::<Vec<Name>>("\"x\"").unwrap_err(), "must be a list, in square brackets");
    }

    #[test]
    fn refuses_numbers_out_of_range() {
        assert_eq!(read::<NonZeroU32>("10").unwrap().get(), 10);
        for text in ["0", "-1", "4294967296", "1.5", "\"10\""] {
            assert_eq!(read::<NonZeroU32>(text).unwrap_err(), "must be a whole number from 1 to 4294967295");
        }
    }

    #[test]
    fn parses_sizes_with_and_without_unit_up_to_1_gib() {
        for (toml, bytes, shown) in [
            ("65536", 65_536, "\"64 KiB\""),
            ("\"64 KiB\"", 65_536, "\"64 KiB\""),
            ("\"64KiB\"", 65_536, "\"64 KiB\""),
            ("\"1 MiB\"", 1_048_576, "\"1 MiB\""),
            ("\"1000\"", 1000, "\"1000 B\""),
            ("\"64 kB\"", 64_000, "\"64000 B\""),
            ("\"1.5 MiB\"", 1_572_864, "\"1536 KiB\""),
        ] {
            let size = ByteSize::read(&Raw::from_toml(toml).unwrap()).unwrap();
            assert_eq!((size.bytes(), size.show()), (bytes, shown.to_owned()), "{toml}");
        }
        assert_eq!(ByteSize::read(&Raw::Word("65536".into())).unwrap().bytes(), 65_536);
        for toml in ["0", "-1", "1073741825", "\"2 GiB\"", "\"64 parsecs\"", "\"KiB\"", "\"\"", "true", "1.5"]
        {
            assert!(ByteSize::read(&Raw::from_toml(toml).unwrap()).is_err(), "{toml}");
        }
    }

    #[test]
    fn refuses_long_blank_and_multiline_display_names() {
        let read = |text: &str| Line::<64>::read(&Raw::Word(text.to_owned())).is_ok();
        assert!(read("Night Watch") && read(&"ä".repeat(64)));
        for refused in ["", "  ", "a\nb", "\u{7f}", &"a".repeat(65)] {
            assert!(!read(refused), "{refused:?}");
        }
    }

    #[test]
    fn lists_the_valid_words_for_an_invalid_one() {
        let error = |raw: Result<LogLevel, ValueError>| raw.unwrap_err().to_string();
        let text = Raw::Value("loud".into());
        assert_eq!(error(LogLevel::read(&text)), "must be one of error, warn, info, debug, trace");
        assert_eq!(Provider::read(&text).unwrap_err().to_string(), "must be discord");
        assert_eq!(LogFormat::read(&Raw::Word("json".into())).unwrap(), LogFormat::Json);
    }
}
