//! Configuration errors, each with its key, its place and a fix.

use companion_domain::model::Invalid;
use std::{fmt, path::PathBuf};

/// Where a value came from. The order is the order of the layers: a later one wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Built in.
    Default,
    /// The whole configuration file.
    File(PathBuf),
    /// A line of the configuration file, counted from 1.
    Line(PathBuf, usize),
    /// An environment variable.
    Variable(String),
    /// A file that an environment variable names.
    SecretFile(String, PathBuf),
    /// Several values that do not fit together.
    Together,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Line(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::SecretFile(name, path) => write!(f, "{name}, file {}", path.display()),
            Self::Together => f.write_str("taken together"),
        }
    }
}

/// One thing that is wrong. It never repeats the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it was found.
    pub source: Source,
    /// The key, or what stands where a key should.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub fix: String,
}

/// What stands where a key should, where the configuration file as a whole is meant.
pub(super) const FILE: &str = "the configuration file";

impl Mistake {
    /// Whether it may be none once these are put right: a value that was not understood counts as one that is missing.
    pub(super) fn follows_from(&self, mistakes: &[Self]) -> bool {
        let explains = |mistake: &Self| mistake.key == self.key || mistake.key == FILE;
        self.source == Source::Together && mistakes.iter().any(explains)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}\n    fix: {}", self.key, self.source, self.problem, self.fix)
    }
}

impl std::error::Error for Mistake {}

/// Everything that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// These mistakes, in the order of the layers.
    pub(super) fn new(mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by(|a, b| a.source.cmp(&b.source));
        Self(mistakes)
    }

    /// Each of them.
    #[must_use]
    pub fn as_slice(&self) -> &[Mistake] {
        &self.0
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => f.write_str("the configuration has a mistake:")?,
            count => write!(f, "the configuration has {count} mistakes:")?,
        }
        self.0.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
    }
}

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
