//! A name on pages.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted},
};
use companion_domain::model::Name;
use serde_json::{Value, json};

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
