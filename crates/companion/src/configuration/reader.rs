//! Reads keys out of what the layers gave.

use super::{
    key::Key,
    mistake::{Mistake, Source},
    raw::Raw,
    setting::Setting,
};
use std::collections::HashMap;

/// What the layers gave, key by key.
#[derive(Default)]
pub(super) struct Reader {
    given: HashMap<&'static str, Vec<(Source, Raw)>>,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) effective: Vec<Effective>,
}

/// The value that counts of one key, in a form that may be shown, and where it came from.
#[derive(Debug)]
pub struct Effective {
    /// Which key the value is for.
    pub key: &'static Key,
    /// The value; of a secret, that it is there.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

impl Reader {
    /// Takes a value of a key. Of several, the last one counts.
    pub(super) fn give(&mut self, key: &'static Key, source: Source, raw: Raw) {
        self.given.entry(key.path).or_default().push((source, raw));
    }

    /// Reads a key. Every value that was given is checked, also one that another layer overrides: it would surprise
    /// whoever takes the other layer away.
    pub(super) fn read<T: Setting>(&mut self, key: &'static Key) -> Option<T> {
        let (mut value, mut shown, mut origin) = match key.without_a_value() {
            Ok(literal) => {
                let value = Raw::from_toml(literal).and_then(|raw| T::read(&raw).ok());
                (value, literal.to_owned(), Source::Default)
            }
            Err(words) => (T::absent(), format!("({words})"), Source::Default),
        };
        for (source, raw) in self.given.remove(key.path).unwrap_or_default() {
            match T::read(&raw) {
                Ok(read) => (shown, value, origin) = (read.show(), Some(read), source),
                Err(refusal) => self.mistakes.push(Mistake {
                    key: key.path.to_owned(),
                    problem: refusal.to_string(),
                    fix: key.advice(&source),
                    source,
                }),
            }
        }
        self.effective.push(Effective { key, value: shown, source: origin });
        value
    }
}
