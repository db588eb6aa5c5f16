//! A section as a user sent it: what was changed, what is wrong, and what another user changed meanwhile.

use super::typed::Typed;
use crate::form::Form;
use companion_domain::{
    settings::{Field, PartKey, Section, SettingKey, Stored, Value},
    usecase::SentValues,
};
use std::collections::BTreeMap;

/// A section as it was sent.
pub(crate) struct Attempt {
    pub(crate) section: PartKey,
    /// The fields that the form had.
    pub(crate) entries: BTreeMap<PartKey, Entry>,
}

/// A field as it was sent.
pub(crate) struct Entry {
    pub(crate) typed: Typed,
    /// Fingerprint of what the form was rendered with first.
    pub(crate) was: String,
    pub(crate) is_reset: bool,
    /// Fingerprint of the value over which the user chose their own, after a conflict.
    over: Option<String>,
    /// Whether the user chose the value of the other user.
    takes_theirs: bool,
    pub(crate) mistake: Option<String>,
    /// The value that the user wants, if another user set another one meanwhile.
    pub(crate) conflict: Option<Option<Value>>,
}

/// What prevents saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    Mistakes,
    Conflicts,
}

impl Attempt {
    /// Reads the fields that the form had. A field that was published since is not among them.
    pub(crate) fn read(section: &Section, form: &Form) -> Self {
        let resets_all = form.get("reset") == "section";
        let entry = |field: &Field| {
            let value = |prefix: &str| form.all(format!("{prefix}.{}", field.key.as_str()));
            let was = value("was").next()?.to_owned();
            let chosen = value("choose").next();
            let entry = Entry {
                typed: Typed::sent(field, value("value")),
                was,
                is_reset: resets_all || value("reset").next().is_some(),
                over: value("theirs").next().filter(|_| chosen == Some("mine")).map(str::to_owned),
                takes_theirs: chosen == Some("theirs"),
                mistake: None,
                conflict: None,
            };
            Some((field.key.clone(), entry))
        };
        Self { section: section.key.clone(), entries: section.fields.iter().filter_map(entry).collect() }
    }

    /// Returns the values to change: of the fields that the user changed, and only of those.
    ///
    /// # Errors
    /// If a value is wrong, or another user changed it to something else since the form was rendered. The entries then
    /// say which.
    pub(crate) fn changes(&mut self, section: &Section, stored: &Stored) -> Result<SentValues, Obstacle> {
        let mut values = SentValues::new();
        let mut obstacle = None;
        for field in &section.fields {
            let Some(entry) = self.entries.get_mut(&field.key) else { continue };
            let key = SettingKey::new(&section.key, &field.key);
            let current = field.valid(stored.values.get(&key));
            if !entry.is_changed() {
                continue;
            }
            let now = Typed::of(field, current).fingerprint();
            // The user saw this value and chose their own, so it is no conflict any more.
            if entry.over.as_ref() == Some(&now) {
                entry.was.clone_from(&now);
            }
            match if entry.is_reset { Ok(None) } else { entry.typed.parse(field) } {
                Err(mistake) => {
                    entry.mistake = Some(mistake);
                    obstacle = Some(Obstacle::Mistakes);
                }
                Ok(value) if value.as_ref() == current => {}
                Ok(value) if entry.was == now => {
                    values.insert(key, value);
                }
                Ok(value) => {
                    entry.conflict = Some(value);
                    obstacle = obstacle.or(Some(Obstacle::Conflicts));
                }
            }
        }
        obstacle.map_or(Ok(values), Err)
    }
}

impl Entry {
    /// Returns whether the user changed the field, and did not take the value of the other user instead.
    pub(crate) fn is_changed(&self) -> bool {
        (self.is_reset || self.typed.fingerprint() != self.was) && !self.takes_theirs
    }
}
