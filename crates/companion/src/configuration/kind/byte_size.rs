//! Amounts of bytes.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, quoted, text_like},
};
use serde_json::{Value, json};
use std::{fmt, str::FromStr};

/// An amount of bytes, as a number or in words: `65536`, `64 KiB`, `1 MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(usize);

const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// What is kept in memory at once must fit there.
const LARGEST: u64 = 1 << 30;

impl ByteSize {
    /// How many bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0
    }

    fn of(bytes: u64) -> Option<Self> {
        let bytes = Some(bytes).filter(|bytes| (1..=LARGEST).contains(bytes))?;
        usize::try_from(bytes).ok().map(Self)
    }
}

fn refusal() -> Refusal {
    Refusal::must_be("a number of bytes, like 65536 or \"64 KiB\" (B, KiB, MiB, GiB), up to 1 GiB")
}

impl FromStr for ByteSize {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let read = text.parse::<bytesize::ByteSize>().ok();
        read.and_then(|size| Self::of(size.as_u64())).ok_or_else(refusal)
    }
}

impl fmt::Display for ByteSize {
    /// In the largest unit that needs no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as u64;
        let (unit, length) =
            UNITS.iter().find(|(_, length)| bytes.is_multiple_of(*length)).unwrap_or(&("B", 1));
        write!(f, "{} {unit}", bytes / length)
    }
}

impl Setting for ByteSize {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        match raw.integer() {
            Some(bytes) => u64::try_from(bytes).ok().and_then(Self::of).ok_or_else(refusal),
            None => raw.text().map_err(|_| refusal())?.parse(),
        }
    }

    fn schema() -> Value {
        json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": LARGEST}, text_like("^[0-9]")]})
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_or_numbers_with_a_unit() {
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
    }

    #[test]
    fn nothing_too_much_and_strange_units_are_refused() {
        for toml in ["0", "-1", "1073741825", "\"2 GiB\"", "\"64 parsecs\"", "\"KiB\"", "\"\"", "true", "1.5"]
        {
            assert!(ByteSize::read(&Raw::from_toml(toml).unwrap()).is_err(), "{toml}");
        }
    }
}
