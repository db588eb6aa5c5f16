//! The table of keys for people, as `docs/configuration.md` has it.

use super::keys::KEYS;
use std::fmt::Write as _;

/// Every key as a row of a Markdown table.
#[must_use]
pub fn reference() -> String {
    let mut text = "| key | default | what it is for |\n|---|---|---|\n".to_owned();
    for key in KEYS {
        let default = match key.without_a_value() {
            Ok(value) => format!("`{value}`"),
            Err(words) => words.to_owned(),
        };
        let secret = if key.secret { " Secret." } else { "" };
        let _ = writeln!(text, "| `{}` | {default} | {}{secret} |", key.path, key.about);
    }
    text
}
