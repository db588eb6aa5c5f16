//! Why a value was refused.

use companion_domain::model::Invalid;
use std::fmt;

/// Why a value was refused: a phrase that follows the key's name. It never repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in these words, for instance `must be text`.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// The value must be this.
    #[must_use]
    pub fn must_be(what: impl fmt::Display) -> Self {
        Self(format!("must be {what}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::must_be(invalid.expected)
    }
}
