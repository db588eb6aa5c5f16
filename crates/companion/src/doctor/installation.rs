//! What is known of an installation before anything is looked at: its configuration, as far as that can be followed.

use super::check::{Check, Subject};
use crate::configuration::{Configuration, Effective, Mistake, Source};

pub(super) struct Installation {
    pub(super) configuration: Configuration,
    pub(super) effective: Vec<Effective>,
    pub(super) mistakes: Vec<Mistake>,
}

impl Installation {
    /// Goes on only where each of these keys has the value that was meant; otherwise the subject is skipped.
    pub(super) fn needs(&self, subject: Subject, keys: &[&str]) -> Result<(), Check> {
        match keys.iter().find(|key| !self.is_meant(key)) {
            Some(key) => Err(subject.skipped(format!("cannot be told before {key} is right"))),
            None => Ok(()),
        }
    }

    /// Whether the value that a key has is the one that somebody chose. Where a value is wrong, or the file cannot be read,
    /// the default stands in, and what it leads to says nothing about this installation.
    fn is_meant(&self, key: &str) -> bool {
        let wrong = |mistake: &Mistake| mistake.key == key && mistake.source != Source::Together;
        let is_default =
            self.effective.iter().any(|known| known.key.path == key && known.source == Source::Default);
        !(self.mistakes.iter().any(wrong) || is_default && self.has_unreadable_file())
    }

    fn has_unreadable_file(&self) -> bool {
        let unreadable = |mistake: &Mistake| {
            matches!(mistake.source, Source::File(_) | Source::Line(..)) && mistake.key.contains(' ')
        };
        self.mistakes.iter().any(unreadable)
    }
}
