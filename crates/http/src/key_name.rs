//! What a key of the management API is called: in the configuration, in the audit trail, and in refusals.

use companion_domain::model::Invalid;
use std::{fmt, str::FromStr, sync::Arc};

/// The name of a key. It says nothing about the key itself, so it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(Arc<str>);

impl KeyName {
    /// The longest that is accepted, in characters.
    const LONGEST: usize = 64;

    /// What keys that may do everything are called. No configured name has a dot.
    #[must_use]
    pub fn of_management_key() -> Self {
        Self("management.key".into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Self(text.into()));
        }
        Err(Invalid::new("name", "a name of 1 to 64 characters out of A-Z, a-z, 0-9, _ and -"))
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_plain() {
        for name in ["bot", "Monitoring_2-b", &"x".repeat(64)] {
            assert_eq!(name.parse::<KeyName>().unwrap().as_str(), name);
        }
        for name in ["", "two words", "management.key", "ä", "a\"b", &"x".repeat(65)] {
            assert!(name.parse::<KeyName>().is_err(), "{name}");
        }
    }
}
