//! A key of the configuration, as the table of keys describes it.

use super::mistake::Source;
use crate::system::SystemEntropy;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::port::Entropy as _;
use std::borrow::Cow;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// The table it is in.
    pub table: &'static str,
    /// Its name in the table.
    pub name: &'static str,
    /// Both, joined by a dot.
    pub path: &'static str,
    /// What it has when nobody sets it.
    pub default: Fallback,
    /// Whether its value must never be shown.
    pub secret: bool,
    /// What it is for, in a line.
    pub about: &'static str,
    /// What its values look like, as JSON Schema has it.
    pub schema: fn() -> serde_json::Value,
}

/// What a key has when nobody sets it.
#[derive(Debug)]
pub enum Fallback {
    /// A value, as a file would have it.
    Value(&'static str),
    /// No value; what happens then, and what a value could look like.
    Without {
        /// What happens then.
        words: &'static str,
        /// What a value could look like in a file.
        example: &'static str,
    },
    /// An empty list or table; what one with something in it could look like in a file.
    Empty {
        /// What a list or a table could look like in a file.
        example: &'static str,
    },
    /// A random key is made where that can be done. No example of one is written down: somebody would use it.
    Made,
}

/// What makes a key, as people do it.
const HOW_TO_MAKE_ONE: &str = "\"the output of: openssl rand -base64 32\"";

/// What all our variables begin with.
pub(super) const PREFIX: &str = "COMPANION_";
/// What parts the steps of a path in a variable's name.
pub(super) const STEP: &str = "__";
/// What a variable's name ends in that names a file with a secret.
pub(super) const FROM_FILE: &str = "_FILE";

impl Key {
    /// The environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.path.to_ascii_uppercase().replace('.', STEP))
    }

    /// The environment variable that names a file with its value.
    #[must_use]
    pub fn file_variable(&self) -> Option<String> {
        self.secret.then(|| self.variable() + FROM_FILE)
    }

    /// A value as it could stand in a file.
    #[must_use]
    pub const fn example(&self) -> &'static str {
        match self.default {
            Fallback::Value(value) => value,
            Fallback::Without { example, .. } | Fallback::Empty { example } => example,
            Fallback::Made => HOW_TO_MAKE_ONE,
        }
    }

    /// What it has when nobody sets it: a value as a file would have it, or what happens without one.
    pub const fn without_a_value(&self) -> Result<&'static str, &'static str> {
        match self.default {
            Fallback::Value(value) => Ok(value),
            Fallback::Empty { example } => match example.as_bytes() {
                [b'{', ..] => Ok("{}"),
                _ => Ok("[]"),
            },
            Fallback::Without { words, .. } => Err(words),
            Fallback::Made => Err("one is made"),
        }
    }

    /// A value that would be accepted as it stands.
    fn acceptable(&self) -> Cow<'static, str> {
        match self.default {
            Fallback::Made => {
                let mut bytes = [0; 32];
                SystemEntropy.fill(&mut bytes);
                format!("\"{}\"", STANDARD.encode(bytes)).into()
            }
            Fallback::Value(_) | Fallback::Without { .. } | Fallback::Empty { .. } => self.example().into(),
        }
    }

    /// What to write where the value came from.
    pub(super) fn advice(&self, source: &Source) -> String {
        self.advice_like(source, &self.acceptable())
    }

    /// The same, with an example that is closer to what was meant, as a file would have it.
    pub(super) fn advice_like(&self, source: &Source, example: &str) -> String {
        match source {
            Source::SecretFile(_, path) => format!("put the value alone into {}", path.display()),
            Source::Variable(_) => {
                let bare = example.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let value = in_shell(bare.unwrap_or(example));
                format!("write it like {}={value}", self.variable())
            }
            Source::Default | Source::File(_) | Source::Line(..) | Source::Together => {
                format!("write it like {} = {example} in [{}]", self.name, self.table)
            }
        }
    }
}

/// A value as a shell takes it.
fn in_shell(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=".contains(c);
    if value.chars().all(plain) { value.to_owned() } else { format!("'{value}'") }
}

#[cfg(test)]
mod tests {
    use crate::configuration::{KEYS, tests::Given};

    /// The value that an advice shows, as a file has it.
    fn advised(fix: &str) -> &str {
        let (_, value) = fix.split_once(" = ").unwrap();
        value.rsplit_once(" in [").unwrap().0
    }

    #[test]
    fn the_advice_for_a_wrong_value_shows_one_that_would_work() {
        for key in KEYS {
            let wrong = Given::file(&format!("[{}]\n{} = 1970-01-01", key.table, key.name)).mistake();
            let value = advised(&wrong.fix);
            assert_ne!(value, "[]", "{wrong}");
            let right = Given::file(&format!("[{}]\n{} = {value}", key.table, key.name));
            assert_eq!(right.mistakes(), [], "{wrong}");

            let (variable, empty) = (key.variable(), "\u{7f} ");
            let wrong = Given::nothing().with(&variable, empty).mistake();
            let (_, value) = wrong.fix.split_once('=').unwrap();
            let right = Given::nothing().with(&variable, value.trim_matches('\''));
            assert_eq!(right.mistakes(), [], "{wrong}");
        }
    }

    #[test]
    fn no_two_advices_show_the_same_key() {
        let advice = || Given::nothing().with("COMPANION_SECRETS__KEY", "short").mistake().fix;
        assert_ne!(advice(), advice());
    }
}
