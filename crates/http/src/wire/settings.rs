//! Settings of guilds.

use super::Snowflake;
use companion_domain::{
    settings::{Access, ChangedField, HistoryEntry, Problem, Rights, SettingKey, Value},
    usecase::SettingsView,
};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use utoipa::ToSchema;

shapes! {
    /// The settings of a guild.
    pub struct GuildSettings<'a>(view: &'a SettingsView) {
        /// Raised by one with each change; 0 if nothing was ever set.
        #[schema(examples(7))]
        revision: u64 = view.stored.revision,
        /// The values of all fields, by `section.field`: what is set, otherwise the default, otherwise null.
        #[schema(value_type = BTreeMap<String, serde_json::Value>, examples(json!({"welcome.channel": "190000000000000011", "welcome.message": null})))]
        values: BTreeMap<SettingKey, Option<&'a Value>> = view.schema.effective(&view.stored.values),
        /// The fields that are set.
        #[schema(value_type = Vec<String>, examples(json!(["welcome.channel"])))]
        set: Vec<&'a SettingKey> = keys_set(view),
        /// When it was last changed, in seconds since 1970; null if never.
        #[schema(required, examples(1_700_000_000))]
        changed_at: Option<i64> = view.stored.changed.map(|edit| edit.at.seconds()),
        /// The user who last changed it; null if the bot named none, or the user was forgotten.
        #[schema(required)]
        changed_by: Option<Snowflake> = view.stored.changed.and_then(|edit| edit.by).map(Snowflake::from),
        /// The revision that the bot acts by; null if it has confirmed none.
        #[schema(required, examples(7))]
        applied: Option<u64> = view.stored.applied,
        /// Why the bot does not act by some values of that revision.
        #[schema(value_type = Vec<SettingsProblem>)]
        problems: &'a [Problem] = &view.stored.problems,
    }

    /// A change of a guild's settings.
    pub struct SettingsChange<'a>(entry: &'a HistoryEntry) {
        /// The revision that it made.
        #[schema(examples(7))]
        revision: u64 = entry.revision,
        /// When, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        at: i64 = entry.edit.at.seconds(),
        /// The user; null if the bot named none, or the user was forgotten.
        #[schema(required)]
        by: Option<Snowflake> = entry.edit.by.map(Snowflake::from),
        /// Through what: the dashboard, the public API or the bot.
        #[schema(value_type = String, examples("site"))]
        via: &'static str = entry.edit.via.as_str(),
        /// What was different: the field and its value before and after; null is unset.
        #[schema(value_type = Vec<BTreeMap<String, serde_json::Value>>, examples(json!([{"key": "welcome.on", "from": null, "to": true}])))]
        changes: &'a [ChangedField] = &entry.changes,
    }

    /// A change of settings by a user.
    pub(crate) struct StoredChange<'a>(entry: &'a HistoryEntry) {
        guild: Snowflake = entry.guild.into(),
        /// The revision that it made.
        #[schema(examples(7))]
        revision: u64 = entry.revision,
        /// When, in seconds since 1970.
        #[schema(examples(1_700_000_000))]
        at: i64 = entry.edit.at.seconds(),
        /// What was different: the field and its value before and after; null is unset.
        #[schema(value_type = Vec<BTreeMap<String, serde_json::Value>>, examples(json!([{"key": "welcome.on", "from": null, "to": true}])))]
        changes: &'a [ChangedField] = &entry.changes,
    }
}

/// Returns the fields that are set to values of the current schema.
fn keys_set(SettingsView { schema, stored }: &SettingsView) -> Vec<&SettingKey> {
    let set = stored
        .values
        .iter()
        .filter(|(key, value)| schema.find(key).is_some_and(|(_, field)| field.valid(Some(value)).is_some()));
    set.map(|(key, _)| key).collect()
}

/// A change of a guild's settings by the bot.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsPatch {
    /// The values to set, by `section.field`; null returns a field to its default.
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    values: BTreeMap<String, Option<Value>>,
    /// The user on whose behalf the bot makes the change.
    by: Option<Snowflake>,
}

/// A value that the bot does not act by.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsProblem {
    /// The field, as `section.field`.
    #[schema(examples("welcome.message"))]
    key: String,
    /// Why, as people read it.
    #[schema(min_length = 1, max_length = 400, examples("The channel does not exist any more."))]
    message: String,
}

/// Returns the settings as a user with these rights sees them: sections with `editable` and, where they see them,
/// `values`.
pub(crate) fn shown_settings(view: &SettingsView, rights: Rights) -> Result<Json, serde_json::Error> {
    let values = view.schema.effective(&view.stored.values);
    let mut sections = Vec::new();
    for section in view.schema.sections() {
        let access = section.access(rights);
        let mut shown = serde_json::to_value(section)?;
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("editable".to_owned(), (access == Access::Edit).into());
            if access != Access::None {
                let keys = section.fields.iter().map(|field| SettingKey::new(&section.key, &field.key));
                let entry = |key: SettingKey| Some((key.to_string(), json!(values.get(&key)?)));
                shown.insert("values".to_owned(), keys.filter_map(entry).collect::<Map<_, _>>().into());
            }
        }
        sections.push(shown);
    }
    Ok(json!({"revision": view.stored.revision, "sections": sections}))
}
