//! Settings that are text: ids, names and paths.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, quoted, text_like},
};
use companion_domain::model::Name;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A client id: printable text. Many look like numbers; none is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(String);

impl ClientId {
    /// The id as the platform gave it out.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Setting for ClientId {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let text = raw.text()?;
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::must_be("printable text without spaces"))
        }
    }

    fn schema() -> Value {
        text_like("^[!-~]+$")
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The longest name that headings have room for, in characters.
const LONGEST: usize = 64;

/// A name that headings and titles show: short, on one line, and not only spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayName(pub Name);

impl Setting for DisplayName {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let refused = || Refusal::must_be(format_args!("text of 1 to {LONGEST} characters on one line"));
        let text = raw.text()?;
        let fits =
            text.chars().count() <= LONGEST && !text.chars().any(char::is_control) && !text.trim().is_empty();
        text.parse().ok().filter(|_| fits).map(Self).ok_or_else(refused)
    }

    fn schema() -> Value {
        json!({"type": "string", "minLength": 1, "maxLength": LONGEST})
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

/// The path of a file; a relative one begins in the working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

impl Setting for FilePath {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let path = raw.text()?;
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(Refusal::must_be("the path of a file"));
        }
        Ok(Self(path.into()))
    }

    fn show(&self) -> String {
        quoted(&self.0.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_on_one_line() {
        let read = |text: &str| DisplayName::read(&Raw::Word(text.to_owned())).is_ok();
        assert!(read("Night Watch") && read(&"ä".repeat(64)));
        for refused in ["", "  ", "a\nb", "\u{7f}", &"a".repeat(65)] {
            assert!(!read(refused), "{refused:?}");
        }
    }
}
