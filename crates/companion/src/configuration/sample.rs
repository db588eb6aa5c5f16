//! A configuration file to begin with.

use super::keys::KEYS;
use std::fmt::Write as _;

const HEAD: &str = "\
# Companion's configuration. Every key is shown with its default; take the # away to change it.
# The environment wins over this file: http.listen is also COMPANION_HTTP__LISTEN.
";

/// A file with every key, its meaning and its default, all of it commented out.
#[must_use]
pub fn sample() -> String {
    let mut text = HEAD.to_owned();
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            let _ = write!(text, "\n[{table}]\n");
        }
        let _ = writeln!(text, "# {}", key.about);
        if let Some(variable) = key.file_variable() {
            let _ = writeln!(text, "# A secret; {variable} can name a file that holds it.");
        }
        match key.without_a_value() {
            Ok(default) => {
                if default != key.example() {
                    let _ = writeln!(text, "# For example: {} = {}", key.name, key.example());
                }
                let _ = writeln!(text, "#{} = {default}", key.name);
            }
            Err(words) => {
                let _ = writeln!(text, "# Without a value: {words}. For example:");
                let _ = writeln!(text, "#{} = {}", key.name, key.example());
            }
        }
    }
    text
}
