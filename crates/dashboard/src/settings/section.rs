//! Sections and fields, as the page shows them.

use super::{
    Loaded,
    attempt::{Attempt, Entry, Typed},
    control::{Control, hint, pieces_or_default, placeholder, words_or_default},
};
use crate::reason::Piece;
use companion_domain::{
    rules::Needs,
    settings::{Access, Field, Section, SettingKey},
    usecase::SettingsView,
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
    pub(crate) control: Control<'a>,
    /// What an input of text contains, and what it shows if it is empty.
    pub(crate) text: String,
    pub(crate) placeholder: String,
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
    pub(crate) loaded: &'a Loaded,
    /// What the visitor sent and has to correct.
    pub(crate) attempt: Option<&'a Attempt>,
    /// The key of the section that was saved by the request before.
    pub(crate) saved: Option<&'a str>,
}

impl<'a> SectionView<'a> {
    pub(crate) fn new(section: &'a Section, around: &Surroundings<'_>) -> Self {
        let Loaded { settings: SettingsView { stored, .. }, outline, rights, .. } = around.loaded;
        let key_of = |field: &Field| SettingKey::new(&section.key, &field.key);
        let shown = |field: &Field| {
            let value = field.valid(stored.values.get(&key_of(field)));
            (field.title.to_string(), pieces_or_default(field, value, outline.as_ref()))
        };
        let access = section.access(*rights);
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
    let Loaded { listed, rights, outline, .. } = around.loaded;
    let mut needs = Vec::new();
    if !rights.permissions.contains(section.permission) {
        let mut pieces = vec![Piece::text(effect)];
        let missing = Needs::of(section.permission, &listed.guild.bindings);
        pieces.extend(Piece::needs(&missing, outline.as_ref()));
        needs.push(pieces);
    }
    if section.plus && !rights.premium {
        needs.push(vec![Piece::text(
            "Only premium guilds can edit this. A subscription that covers this guild makes it one.",
        )]);
    }
    needs
}

impl<'a> FieldView<'a> {
    fn new(field: &'a Field, key: &SettingKey, entry: Option<&Entry>, around: &Surroundings<'_>) -> Self {
        let Loaded { settings: SettingsView { stored, .. }, outline, .. } = around.loaded;
        let outline = outline.as_ref();
        // A field that the user left alone is shown as it is now.
        let entry = entry.filter(|entry| entry.is_changed());
        let value = field.valid(stored.values.get(key));
        let shown = Typed::of(field, value);
        let typed = entry.map_or(&shown, |entry| &entry.typed);
        let control = Control::new(field, typed, outline);
        let now = shown.fingerprint();
        let has_default = matches!(control, Control::Select(_) | Control::Boxes { many: false, .. });
        let conflict = entry.and_then(|entry| entry.conflict.as_ref()).map(|mine| {
            let words = |value| words_or_default(field, value, outline);
            (words(mine.as_ref()), words(value))
        });
        // Problems are those of the revision that the bot confirmed; a later one may have solved them.
        let problems = if stored.is_applied() { &*stored.problems } else { &[] };
        let problem = problems.iter().find(|problem| problem.key == *key);
        Self {
            field,
            id: key.to_string(),
            hint: hint(field, &control, outline),
            control,
            text: typed.joined(),
            placeholder: placeholder(field),
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
