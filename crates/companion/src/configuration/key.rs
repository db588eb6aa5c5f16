//! A key of the configuration, as the table of keys describes it.

use super::mistake::Source;

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
    /// Whether the program already acts on it.
    pub used: Used,
    /// What it is for, in a line.
    pub about: &'static str,
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
}

/// Whether the program already acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// It does.
    Now,
    /// It is accepted and checked; what it steers is not built yet.
    NotYet,
}

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
            Fallback::Without { example, .. } => example,
        }
    }

    /// What to write where the value came from.
    pub(super) fn advice(&self, source: &Source) -> String {
        let example = self.example();
        match source {
            Source::SecretFile(_, path) => format!("put the value alone into {}", path.display()),
            Source::Variable(_) => {
                let bare = example.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let value = bare.map_or_else(|| in_shell(example), in_shell);
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
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if value.chars().all(plain) { value.to_owned() } else { format!("'{value}'") }
}
