//! Sections and fields, as the page shows them.

use super::{
    attempt::{Attempt, Entry, Typed},
    control::{Control, hint, pieces_or_default, words_or_default},
};
use crate::reason::Piece;
use companion_domain::{
    model::{Outline, RoleBindings},
    rules::Needs,
    settings::{Access, Field, Rights, Section, SettingKey, Stored},
};

/// A section.
pub(crate) struct SectionView<'a> {
    pub(crate) section: &'a Section,
    pub(crate) content: Content<'a>,
    /// Whether it was saved by the request before.
    pub(crate) is_saved: bool,
}

/// What a visitor gets of a section.
pub(crate) enum Content<'a> {
    /// A form.
    Form(Vec<FieldView<'a>>),
    /// What editing needs, and the values by title if they are visible.
    Locked { needs: Vec<Vec<Piece>>, values: Vec<(String, Vec<Piece>)> },
}

/// A field with its inputs.
pub(crate) struct FieldView<'a> {
    pub(crate) field: &'a Field,
    /// Its whole key, which is its id on the page.
    pub(crate) id: String,
    pub(crate) hint: String,
    pub(crate) control: Control,
    /// Fingerprint of what the form was rendered with first.
    pub(crate) was: String,
    /// Fingerprint of what is stored now.
    pub(crate) now: String,
    /// Whether a check box "Back to default" is offered: there is a value, and no choice that is the default.
    pub(crate) can_reset: bool,
    pub(crate) is_reset: bool,
    pub(crate) mistake: Option<String>,
    /// The value of this visitor and that of another user, in words, if both changed it.
    pub(crate) conflict: Option<(String, String)>,
    /// Why the bot does not act by the value.
    pub(crate) problem: Option<String>,
}

/// What sections are shown with.
pub(crate) struct Surroundings<'a> {
    pub(crate) stored: &'a Stored,
    pub(crate) bindings: &'a RoleBindings,
    pub(crate) rights: Rights,
    pub(crate) outline: Option<&'a Outline>,
    /// What the visitor sent and has to correct.
    pub(crate) attempt: Option<&'a Attempt>,
    /// The key of the section that was saved by the request before.
    pub(crate) saved: Option<&'a str>,
}

impl<'a> SectionView<'a> {
    pub(crate) fn new(section: &'a Section, around: &Surroundings<'_>) -> Self {
        let key_of = |field: &Field| SettingKey::new(&section.key, &field.key);
        let shown = |field: &Field| {
            let value = field.valid(around.stored.values.get(&key_of(field)));
            (field.title.to_string(), pieces_or_default(field, value, around.outline))
        };
        let access = section.access(around.rights);
        let content = match access {
            Access::Edit => {
                let attempt = around.attempt.filter(|attempt| attempt.section == section.key);
                let entry = |field: &Field| attempt.and_then(|attempt| attempt.entries.get(&field.key));
                let fields = section.fields.iter();
                Content::Form(
                    fields.map(|field| FieldView::new(field, &key_of(field), entry(field), around)).collect(),
                )
            }
            Access::View => Content::Locked {
                needs: needs(section, "You can see this, but not change it. ", around),
                values: section.fields.iter().map(shown).collect(),
            },
            Access::None => {
                Content::Locked { needs: needs(section, "You cannot see this. ", around), values: Vec::new() }
            }
        };
        Self {
            section,
            is_saved: access == Access::Edit && around.saved == Some(section.key.as_str()),
            content,
        }
    }
}

/// Returns what a visitor lacks to edit a section, after what follows from it.
fn needs(section: &Section, effect: &str, around: &Surroundings<'_>) -> Vec<Vec<Piece>> {
    let mut needs = Vec::new();
    if !around.rights.permissions.contains(section.permission) {
        let mut pieces = vec![Piece::text(effect)];
        pieces.extend(Piece::needs(&Needs::of(section.permission, around.bindings), around.outline));
        needs.push(pieces);
    }
    if section.plus && !around.rights.premium {
        needs.push(vec![Piece::text(
            "Only premium guilds can edit this. A subscription that covers this guild makes it one.",
        )]);
    }
    needs
}

impl<'a> FieldView<'a> {
    fn new(field: &'a Field, key: &SettingKey, entry: Option<&Entry>, around: &Surroundings<'_>) -> Self {
        // A field that the user left alone is shown as it is now.
        let entry = entry.filter(|entry| entry.is_changed());
        let value = field.valid(around.stored.values.get(key));
        let stored = Typed::of(field, value);
        let typed = entry.map_or(&stored, |entry| &entry.typed);
        let control = Control::new(field, typed, around.outline);
        let now = stored.fingerprint();
        let has_default = matches!(control, Control::Select(_) | Control::Boxes { many: false, .. });
        let conflict = entry.and_then(|entry| entry.conflict.as_ref()).map(|mine| {
            let words = |value| words_or_default(field, value, around.outline);
            (words(mine.as_ref()), words(value))
        });
        // Problems are those of the revision that the bot confirmed; a later one may have solved them.
        let is_applied = around.stored.is_applied();
        let problem = around.stored.problems.iter().find(|problem| is_applied && problem.key == *key);
        Self {
            field,
            id: key.to_string(),
            hint: hint(field, &control, around.outline),
            control,
            was: entry.map_or_else(|| now.clone(), |entry| entry.was.clone()),
            now,
            can_reset: value.is_some() && !has_default,
            is_reset: entry.is_some_and(|entry| entry.is_reset),
            mistake: entry.and_then(|entry| entry.mistake.clone()),
            conflict,
            problem: problem.map(|problem| problem.message.to_string()),
        }
    }
}
