//! Settings: the schema that the bot publishes, values, changes and confirmations, as JSON.

use crate::{
    format::{Format, OrDefault},
    node::{FieldErrors, Node, Path},
    record::{Nested, read_document, record},
    values::Micros,
};
use companion_domain::{
    model::{ChannelKind, Description, FieldError, GuildId, Title, UserId},
    policy::Permission,
    settings::{
        Bounds, ChangedField, Choice, Edit, Field, FieldKind, FieldType, HistoryEntry, Many, Origin, PartKey,
        Problem, Schema, Section, SettingKey, Stored, Value, Values, repeated,
    },
};
use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value as Json;
use std::marker::PhantomData;
use utoipa::openapi::{self, ArrayBuilder, ObjectBuilder, RefOr, schema::SchemaType};

record! {
    /// The schema of settings.
    pub SchemaRecord of (Schema,) {
        fields {
            schema ["schema"]: DomainJson<Schema> = 0;
        }
    }
    (schema,)
}

record! {
    /// The settings of a guild.
    pub SettingsRecord of (GuildId, Stored) {
        key {
            /// The guild's id.
            guild ["guild"] in "guild": GuildId = 0;
        }
        fields {
            revision ["revision"]: u64 = 1.revision;
            values ["values"]: DomainJson<Values> = 1.values;
            /// The last change.
            changed ["changed"]: Option<Nested<EditRecord>> = 1.changed;
            applied ["applied"]: Option<u64> = 1.applied;
            problems ["problems"]: Vec<Nested<ProblemRecord>> = 1.problems;
        }
    }
    (guild, Stored { revision, values, changed, applied, problems })
}

record! {
    /// An entry of the history of a guild's settings.
    pub SettingsEditRecord of HistoryEntry {
        key {
            /// The guild's id.
            guild ["guild"] in "guild": GuildId = guild;
        }
        fields {
            revision ["revision"]: u64 = revision;
            edit ["edit"]: Nested<EditRecord> = edit;
            changes ["changes"]: DomainJson<Vec<ChangedField>> = changes;
        }
    }
    HistoryEntry { guild, revision, edit, changes }
}

record! {
    /// When, by whom and through what settings were changed.
    pub(crate) EditRecord of Edit {
        fields {
            /// In microseconds since 1970.
            at ["at"]: Micros = at;
            by ["by"]: Option<UserId> = by;
            via ["via"]: Origin = via;
        }
    }
    Edit { at, by, via }
}

/// A value whose JSON the domain defines. Only an export of this service contains it, so its first error is enough.
struct DomainJson<T>(PhantomData<T>);

impl<T: Serialize + DeserializeOwned> Format for DomainJson<T> {
    type Value = T;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<T> {
        T::deserialize(node.value).or_else(|error| node.refuse(errors, error.to_string()).ok_or(())).ok()
    }

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn schema() -> RefOr<openapi::Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
    }
}

/// Size of the largest schema, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 128 * 1024;

/// Reads a schema from a body. Returns every error by its path.
pub fn read_schema(body: &Result<Json, serde_json::Error>) -> Result<Schema, Vec<FieldError>> {
    let (sections,) = read_document::<SentSchema>(body)?;
    Schema::new(sections)
}

record! {
    /// What people can set in each guild.
    pub SentSchema of (Vec<Section>,) {
        fields {
            /// With distinct keys.
            sections ["sections"]: WithKeys<Nested<SectionRecord>, 0, { Schema::MAX_SECTIONS }>;
        }
        example {"sections": [{
            "key": "welcome", "title": "Welcome", "permission": "MANAGE_SERVER", "fields": [
                {"key": "on", "type": "boolean", "title": "Greet new members", "default": true},
                {"key": "channel", "type": "channel", "title": "Channel", "kinds": ["text"]},
            ]
        }]}
    }
    (sections,)
}

record! {
    /// Fields that are edited under one permission.
    pub(crate) SectionRecord of Section {
        fields {
            key ["key"]: PartKey;
            title ["title"]: Title;
            description ["description"]: OrDefault<Option<Description>>;
            /// Who may edit the section.
            permission ["permission"]: Permission;
            /// Whether only premium guilds have it.
            plus ["plus"]: OrDefault<bool>;
            /// Whether everyone who sees the guild sees the values.
            visible ["visible"]: OrDefault<bool>;
            /// With distinct keys. The limit is for all sections together.
            fields ["fields"]: WithKeys<FieldFormat, 1, { Schema::MAX_FIELDS }>;
        }
    }
    Section { key, title, description, permission, plus, visible, fields }
}

record! {
    /// One thing that can be set. Each type has options of its own.
    pub(crate) FieldRecord of Field {
        fields {
            key ["key"]: PartKey;
            title ["title"]: Title;
            description ["description"]: OrDefault<Option<Description>>;
            kind ["type"]: FieldKind;
            /// The value of a guild that set none.
            default ["default"]: OrDefault<Option<Value>>;
            /// Of integer and number.
            min ["min"]: OrDefault<Option<f64>>;
            /// Of integer and number.
            max ["max"]: OrDefault<Option<f64>>;
            /// Of integer and number: what is counted.
            unit ["unit"]: OrDefault<Option<Title>>;
            /// Of text: 0 if absent.
            min_length ["min_length"]: OrDefault<u32>;
            /// Of text: 4000 if absent, which is the most.
            max_length ["max_length"]: OrDefault<Option<u32>>;
            /// Of text.
            multiline ["multiline"]: OrDefault<bool>;
            /// Of choice: 1 to 50 with distinct values.
            choices ["choices"]: OrDefault<Vec<Nested<ChoiceRecord>>>;
            /// Of channel: all if absent.
            kinds ["kinds"]: OrDefault<Vec<ChannelKind>>;
            /// Of text, choice, channel and role: the value is a list.
            many ["many"]: OrDefault<Option<Nested<ManyRecord>>>;
        }
    }
    Field {
        key, title, description, default, many,
        field_type: match kind {
            FieldKind::Boolean => FieldType::Boolean,
            FieldKind::Integer => FieldType::Integer(Bounds { min, max, unit }),
            FieldKind::Number => FieldType::Number(Bounds { min, max, unit }),
            FieldKind::Text => FieldType::Text {
                min_length,
                max_length: max_length.unwrap_or(FieldType::MAX_LENGTH),
                multiline,
            },
            FieldKind::Choice => FieldType::Choice { choices },
            FieldKind::Color => FieldType::Color,
            FieldKind::Channel => FieldType::Channel { kinds },
            FieldKind::Role => FieldType::Role,
        },
    }
}

record! {
    /// One of the values of a choice.
    pub(crate) ChoiceRecord of Choice {
        fields {
            value ["value"]: Title;
            title ["title"]: Title;
        }
    }
    Choice { value, title }
}

record! {
    /// How long a list is: at most 50.
    pub(crate) ManyRecord of Many {
        fields {
            min ["min"]: OrDefault<u32>;
            max ["max"]: u32;
        }
    }
    Many { min, max }
}

record! {
    /// What the bot acts by.
    pub SettingsConfirmation of (u64, Option<Vec<Problem>>) {
        fields {
            revision ["revision"]: u64;
            /// Values that it cannot act by.
            problems ["problems"]: OrDefault<Option<Vec<Nested<ProblemRecord>>>>;
        }
        example {"revision": 7, "problems": [
            {"key": "welcome.channel", "message": "I may not write in this channel."}
        ]}
    }
    (revision, problems)
}

record! {
    /// A value that the bot cannot act by, and why.
    pub(crate) ProblemRecord of Problem {
        fields {
            key ["key"]: SettingKey = key;
            message ["message"]: Description = message;
        }
    }
    Problem { key, message }
}

/// A field with the options of its type and no others.
struct FieldFormat;

impl Format for FieldFormat {
    type Value = Field;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Field> {
        const OPTIONS: [(&[FieldKind], &[&str]); 4] = [
            (&[FieldKind::Integer, FieldKind::Number], &["min", "max", "unit"]),
            (&[FieldKind::Text], &["min_length", "max_length", "multiline"]),
            (&[FieldKind::Choice], &["choices"]),
            (&[FieldKind::Channel], &["kinds"]),
        ];
        let kind = node.value.get("type").and_then(|name| name.as_str()?.parse::<FieldKind>().ok());
        let foreign = OPTIONS.iter().filter(|(kinds, _)| kind.is_some_and(|kind| !kinds.contains(&kind)));
        for option in foreign.flat_map(|(_, options)| *options) {
            if node.value.get(option).is_some() {
                errors.add(&Path::Field(&node.path, option), "is not an option of this type");
            }
        }
        let field = Nested::<FieldRecord>::read(node, errors)?;
        let problems = field.problems();
        for problem in &problems {
            errors.add(&Path::Field(&node.path, &problem.path), problem.message.clone());
        }
        problems.is_empty().then_some(field)
    }

    fn write<S: Serializer>(value: &Field, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn schema() -> RefOr<openapi::Schema> {
        Nested::<FieldRecord>::schema()
    }
}

/// A list of objects with distinct keys. The limits are documented here and checked by the domain.
struct WithKeys<F, const MIN: usize, const MAX: usize>(PhantomData<F>);

impl<F: Format, const MIN: usize, const MAX: usize> Format for WithKeys<F, MIN, MAX> {
    type Value = Vec<F::Value>;

    fn read(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Self::Value> {
        let keys = node.value.as_array().into_iter().flatten().map(|item| item.get("key")?.as_str());
        for place in repeated(keys) {
            errors.add(&Path::Field(&Path::Item(&node.path, place), "key"), "is used before");
        }
        Vec::<F>::read(node, errors)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        Vec::<F>::write(value, serializer)
    }

    fn schema() -> RefOr<openapi::Schema> {
        ArrayBuilder::new().items(F::schema()).min_items(Some(MIN)).max_items(Some(MAX)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record as _;
    use serde_json::json;

    #[test]
    fn a_schema_is_read_as_it_was_written() {
        let sent = json!({"sections": [{
            "key": "all", "title": "All", "description": "Every type.", "permission": "ADMIN", "plus": true,
            "visible": true, "fields": [
                {"key": "a", "type": "boolean", "title": "A", "default": true},
                {"key": "b", "type": "integer", "title": "B", "min": 0, "max": 9, "unit": "days", "default": 3},
                {"key": "c", "type": "number", "title": "C", "min": 0.5},
                {"key": "d", "type": "text", "title": "D", "min_length": 1, "max_length": 9, "multiline": true},
                {"key": "e", "type": "choice", "title": "E", "choices": [{"value": "x", "title": "X"}]},
                {"key": "f", "type": "color", "title": "F", "default": "#1ABC9C"},
                {"key": "g", "type": "channel", "title": "G", "kinds": ["text", "forum"]},
                {"key": "h", "type": "role", "title": "H", "many": {"min": 1, "max": 5}, "default": ["7"]},
            ]
        }]});
        let schema = read_schema(&Ok(sent)).unwrap();
        let written = serde_json::to_string(&schema).unwrap();
        assert_eq!(read_schema(&serde_json::from_str(&written)).unwrap(), schema);
        assert_eq!(serde_json::from_str::<Schema>(&written).unwrap(), schema);
    }

    #[test]
    fn every_error_of_a_schema_is_named_by_its_path() {
        let sent = json!({"sections": [
            {"key": "a", "title": "", "permission": "KING", "fields": [
                {"key": "A", "type": "boolean", "title": "A"},
                {"key": "b", "type": "integer", "title": "B", "min": 2, "max": 1},
                {"key": "b", "type": "colour", "title": "B"},
                {"key": "c", "type": "text", "title": "C", "choices": []},
            ]},
            {"key": "a", "title": "A", "permission": "MOD", "fields": []},
        ]});
        let errors = read_schema(&Ok(sent)).unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        for path in [
            "sections[0].title",
            "sections[0].permission",
            "sections[0].fields[0].key",
            "sections[0].fields[1].min",
            "sections[0].fields[2].key",
            "sections[0].fields[2].type",
            "sections[0].fields[3].choices",
            "sections[1].key",
        ] {
            assert!(paths.contains(&path), "{path} is not in {paths:?}");
        }
    }

    #[test]
    fn a_confirmation_names_its_problems() {
        let (revision, problems) =
            read_document::<SettingsConfirmation>(&Ok(SettingsConfirmation::example())).unwrap();
        assert_eq!((revision, problems.map(|problems| problems.len())), (7, Some(1)));
        let wrong = json!({"revision": -1, "problems": [{"key": "a", "message": 1}], "more": 1});
        let errors = read_document::<SettingsConfirmation>(&Ok(wrong)).unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["revision", "problems[0].key", "problems[0].message", "more"]);
    }
}
