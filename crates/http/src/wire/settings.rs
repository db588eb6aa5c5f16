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

/// The settings of a guild.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GuildSettings<'a> {
    /// Raised by one with each change; 0 if nothing was ever set.
    #[schema(examples(7))]
    revision: u64,
    /// The values of all fields, by `section.field`: what is set, otherwise the default, otherwise null.
    #[schema(value_type = BTreeMap<String, serde_json::Value>, examples(json!({"welcome.channel": "190000000000000011", "welcome.message": null})))]
    values: BTreeMap<SettingKey, Option<&'a Value>>,
    /// The fields that are set.
    #[schema(value_type = Vec<String>, examples(json!(["welcome.channel"])))]
    set: Vec<&'a SettingKey>,
    /// When it was last changed, in seconds since 1970; null if never.
    #[schema(required, examples(1_700_000_000))]
    changed_at: Option<i64>,
    /// The user who last changed it; null if the bot named none, or the user was forgotten.
    #[schema(required)]
    changed_by: Option<Snowflake>,
    /// The revision that the bot acts by; null if it has confirmed none.
    #[schema(required, examples(7))]
    applied: Option<u64>,
    /// Why the bot does not act by some values of that revision.
    #[schema(value_type = Vec<SettingsProblem>)]
    problems: &'a [Problem],
}

impl<'a> From<&'a SettingsView> for GuildSettings<'a> {
    fn from(SettingsView { schema, stored }: &'a SettingsView) -> Self {
        let set = stored.values.iter().filter(|(key, value)| {
            schema.find(key).is_some_and(|(_, field)| field.valid(Some(value)).is_some())
        });
        Self {
            revision: stored.revision,
            values: schema.effective(&stored.values),
            set: set.map(|(key, _)| key).collect(),
            changed_at: stored.changed.map(|edit| edit.at.seconds()),
            changed_by: stored.changed.and_then(|edit| edit.by).map(Snowflake::from),
            applied: stored.applied,
            problems: &stored.problems,
        }
    }
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

/// A change of a guild's settings.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange<'a> {
    /// The revision that it made.
    #[schema(examples(7))]
    revision: u64,
    /// When, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    at: i64,
    /// The user; null if the bot named none, or the user was forgotten.
    #[schema(required)]
    by: Option<Snowflake>,
    /// Through what: the dashboard, the public API or the bot.
    #[schema(value_type = String, examples("site"))]
    via: &'static str,
    /// What was different: the field and its value before and after; null is unset.
    #[schema(value_type = Vec<BTreeMap<String, serde_json::Value>>, examples(json!([{"key": "welcome.on", "from": null, "to": true}])))]
    changes: &'a [ChangedField],
}

impl<'a> From<&'a HistoryEntry> for SettingsChange<'a> {
    fn from(entry: &'a HistoryEntry) -> Self {
        Self {
            revision: entry.revision,
            at: entry.edit.at.seconds(),
            by: entry.edit.by.map(Snowflake::from),
            via: entry.edit.via.as_str(),
            changes: &entry.changes,
        }
    }
}

/// A change of settings by a user.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredChange<'a> {
    guild: Snowflake,
    /// The revision that it made.
    #[schema(examples(7))]
    revision: u64,
    /// When, in seconds since 1970.
    #[schema(examples(1_700_000_000))]
    at: i64,
    /// What was different: the field and its value before and after; null is unset.
    #[schema(value_type = Vec<BTreeMap<String, serde_json::Value>>, examples(json!([{"key": "welcome.on", "from": null, "to": true}])))]
    changes: &'a [ChangedField],
}

impl<'a> From<&'a HistoryEntry> for StoredChange<'a> {
    fn from(entry: &'a HistoryEntry) -> Self {
        let HistoryEntry { guild, revision, edit, changes } = entry;
        Self { guild: (*guild).into(), revision: *revision, at: edit.at.seconds(), changes }
    }
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
