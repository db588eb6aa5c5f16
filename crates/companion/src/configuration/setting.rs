//! What a type has to offer to be the type of a key, and the plain types that are.

use super::{mistake::Refusal, raw::Raw};
use companion_domain::model::{Name, Span, WebUrl};
use serde_json::{Value, json};
use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
};

/// The type of a key.
pub trait Setting: Sized {
    /// Whether the value must never be shown. Such a value can also come from a file that a variable names.
    const SECRET: bool = false;

    /// Reads a value.
    fn read(raw: &Raw) -> Result<Self, Refusal>;

    /// The value as it would be written in a file; of a secret, that it is there.
    fn show(&self) -> String;

    /// What values look like in a file, as JSON Schema has it. It may accept more than [`read`](Self::read) does, and never
    /// less. A type that says nothing accepts everything.
    #[must_use]
    fn schema() -> Value {
        json!({})
    }

    /// What a key without a value has, for types that can be absent.
    fn absent() -> Option<Self> {
        None
    }
}

/// Text as a file would have it.
pub(super) fn quoted(text: &impl fmt::Display) -> String {
    toml::Value::String(text.to_string()).to_string()
}

impl<T: Setting> Setting for Option<T> {
    const SECRET: bool = T::SECRET;

    fn read(raw: &Raw) -> Result<Self, Refusal> {
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

    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let items = raw.list().ok_or_else(|| Refusal::must_be("a list, in square brackets"))?;
        let each = items.iter().enumerate().map(|(place, item)| {
            T::read(item).map_err(|refusal| Refusal::new(format!("entry {} {refusal}", place + 1)))
        });
        each.collect()
    }

    fn show(&self) -> String {
        format!("[{}]", self.iter().map(Setting::show).collect::<Vec<_>>().join(", "))
    }

    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl Setting for bool {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        raw.boolean().ok_or_else(|| Refusal::must_be("true or false"))
    }

    fn schema() -> Value {
        json!({"type": "boolean"})
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for NonZeroU32 {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let number = raw.integer().and_then(|number| u32::try_from(number).ok()).and_then(Self::new);
        number.ok_or_else(|| Refusal::must_be(format_args!("a whole number from 1 to {}", u32::MAX)))
    }

    fn schema() -> Value {
        json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for NonZeroUsize {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        NonZeroU32::read(raw)
            .and_then(|number| Self::try_from(number).map_err(|_| Refusal::must_be("a smaller number")))
    }

    fn schema() -> Value {
        NonZeroU32::schema()
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// Text that looks like this.
pub(super) fn text_like(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

/// Domain types that know how to read and write themselves as text, which looks like this.
macro_rules! text_settings {
    ($($type:ty = $pattern:literal),+) => {$(
        impl Setting for $type {
            fn read(raw: &Raw) -> Result<Self, Refusal> {
                Ok(raw.text()?.parse()?)
            }

            fn show(&self) -> String {
                quoted(self)
            }

            fn schema() -> Value {
                text_like($pattern)
            }
        }
    )+};
}

text_settings!(Name = ".", Span = "^[0-9]+(ms|s|m|h|d)$", WebUrl = "^[hH][tT][tT][pP][sS]?://.");

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Setting>(toml: &str) -> Result<T, String> {
        T::read(&Raw::from_toml(toml).unwrap()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn durations_are_a_number_and_a_unit() {
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
    fn a_list_says_which_entry_is_wrong() {
        let refusal = read::<Vec<WebUrl>>(r#"["https://a.example", "b"]"#).unwrap_err();
        assert!(refusal.starts_with("entry 2 must be an absolute http or https URL"), "{refusal}");
        assert_eq!(read::<Vec<Name>>("\"x\"").unwrap_err(), "must be a list, in square brackets");
    }

    #[test]
    fn numbers_have_limits() {
        assert_eq!(read::<NonZeroU32>("10").unwrap().get(), 10);
        for text in ["0", "-1", "4294967296", "1.5", "\"10\""] {
            assert_eq!(read::<NonZeroU32>(text).unwrap_err(), "must be a whole number from 1 to 4294967295");
        }
    }
}
