//! Settings: the schema that the bot publishes, values, changes and confirmations, as JSON.

use crate::{
    format::Format,
    node::{FieldErrors, Fields, Node, Path},
    record::{Nested, record},
    values::Micros,
};
use companion_domain::{
    model::{ChannelKind, FieldError, GuildId, Invalid, Title, UserId},
    policy::Permission,
    settings::{
        Bounds, ChangedField, Choice, Edit, Field, FieldType, HistoryEntry, Many, Origin, PartKey, Problem,
        Schema, Section, Stored, Value, Values, repeated,
    },
};
use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Value as Json, json};
use std::{marker::PhantomData, str::FromStr};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{self, ObjectBuilder, RefOr},
};

record! {
    /// The schema of settings.
    pub SchemaRecord of (Schema,) {
        key {}
        fields {
            schema ["schema"]: DomainJson<Schema> = 0;
        }
        example {"schema": {"sections": []}}
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
            revision ["revision"]: DomainJson<u64> = 1.revision;
            values ["values"]: DomainJson<Values> = 1.values;
            /// The last change.
            changed ["changed"]: Option<Nested<EditRecord>> = 1.changed;
            applied ["applied"]: DomainJson<Option<u64>> = 1.applied;
            problems ["problems"]: DomainJson<Vec<Problem>> = 1.problems;
        }
        example {"revision": 0, "values": {}, "changed": null, "applied": null, "problems": []}
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
            revision ["revision"]: DomainJson<u64> = revision;
            edit ["edit"]: Nested<EditRecord> = edit;
            changes ["changes"]: DomainJson<Vec<ChangedField>> = changes;
        }
        example {
            "revision": 1, "edit": {"at": 1_700_000_000_000_000_i64, "by": null, "via": "bot"}, "changes": []
        }
    }
    HistoryEntry { guild, revision, edit, changes }
}

record! {
    /// When, by whom and through what settings were changed.
    pub(crate) EditRecord of Edit {
        key {}
        fields {
            /// In microseconds since 1970.
            at ["at"]: Micros = at;
            by ["by"]: Option<UserId> = by;
            via ["via"]: Origin = via;
        }
        example {"at": 1_700_000_000_000_000_i64, "by": null, "via": "bot"}
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
        ObjectBuilder::new().into()
    }
}

/// A body, or why it is not JSON.
type Document = Result<Json, serde_json::Error>;

/// Reads a body that must be JSON. Returns every error by its path.
fn read_document<T>(
    body: &Document,
    read: impl FnOnce(Node<'_, '_>, &mut FieldErrors) -> Option<T>,
) -> Result<T, Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    let read = errors.document(body).and_then(|node| read(node, &mut errors));
    errors.unless_any(read)
}

/// Size of the largest schema, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 128 * 1024;
/// Reads a schema from a body. Returns every error by its path.
pub fn read_schema(body: &Document) -> Result<Schema, Vec<FieldError>> {
    let sections = read_document(body, |node, errors| {
        let mut fields = node.fields(errors)?;
        let sections = fields.required("sections", errors).and_then(|node| distinct(node, errors, section));
        fields.finish(errors);
        sections
    });
    Schema::new(sections?)
}

/// Reads a list of things with keys, and reports keys that are used twice.
fn distinct<T: Keyed>(
    node: Node<'_, '_>,
    errors: &mut FieldErrors,
    read: fn(Node<'_, '_>, &mut FieldErrors) -> Option<T>,
) -> Option<Vec<T>> {
    let mut keys = Vec::new();
    let items = node.list(errors, |node, errors| {
        let item = read(node, errors);
        keys.push(item.as_ref().map(|item| item.key().clone()));
        item
    });
    for place in repeated(keys.iter().map(Option::as_ref)) {
        errors.add(&Path::Field(&Path::Item(&node.path, place), "key"), "is used before");
    }
    items
}

trait Keyed {
    fn key(&self) -> &PartKey;
}

impl Keyed for Section {
    fn key(&self) -> &PartKey {
        &self.key
    }
}

impl Keyed for Field {
    fn key(&self) -> &PartKey {
        &self.key
    }
}

fn section(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Section> {
    let mut members = node.fields(errors)?;
    let key = required(&mut members, "key", errors);
    let title = required(&mut members, "title", errors);
    let description = optional(&mut members, "description", errors, Node::text);
    let permission: Option<Permission> = required(&mut members, "permission", errors);
    let plus = optional(&mut members, "plus", errors, Node::boolean);
    let visible = optional(&mut members, "visible", errors, Node::boolean);
    let fields = members.required("fields", errors).and_then(|node| distinct(node, errors, field));
    members.finish(errors);
    Some(Section {
        key: key?,
        title: title?,
        description: description?,
        permission: permission?,
        plus: plus?.unwrap_or(false),
        visible: visible?.unwrap_or(false),
        fields: fields?,
    })
}

fn field(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Field> {
    let mut members = node.fields(errors)?;
    let key = required(&mut members, "key", errors);
    let title = required(&mut members, "title", errors);
    let description = optional(&mut members, "description", errors, Node::text);
    let default = optional(&mut members, "default", errors, value);
    let field_type = members.required("type", errors).and_then(|node| field_type(node, &mut members, errors));
    let many = optional(&mut members, "many", errors, many);
    members.finish(errors);
    let field = Field {
        key: key?,
        title: title?,
        description: description?,
        field_type: field_type?,
        many: many?,
        default: default?,
    };
    let problems = field.problems();
    for problem in &problems {
        errors.add(&Path::Field(&node.path, &problem.path), problem.message.clone());
    }
    problems.is_empty().then_some(field)
}

fn field_type(
    node: Node<'_, '_>,
    members: &mut Fields<'_, '_>,
    errors: &mut FieldErrors,
) -> Option<FieldType> {
    let name = node.value.as_str();
    Some(match name {
        Some("boolean") => FieldType::Boolean,
        Some("integer") => FieldType::Integer(bounds(members, errors)?),
        Some("number") => FieldType::Number(bounds(members, errors)?),
        Some("text") => {
            let min_length = optional(members, "min_length", errors, length);
            let max_length = optional(members, "max_length", errors, length);
            let multiline = optional(members, "multiline", errors, Node::boolean);
            FieldType::Text {
                min_length: min_length?.unwrap_or(0),
                max_length: max_length?.unwrap_or(FieldType::MAX_LENGTH),
                multiline: multiline?.unwrap_or(false),
            }
        }
        Some("choice") => {
            FieldType::Choice { choices: members.required("choices", errors)?.list(errors, choice)? }
        }
        Some("color") => FieldType::Color,
        Some("channel") => {
            let kinds = |node: Node<'_, '_>, errors: &mut FieldErrors| {
                node.list(errors, |node, errors| node.text::<ChannelKind>(errors))
            };
            FieldType::Channel { kinds: optional(members, "kinds", errors, kinds)?.unwrap_or_default() }
        }
        Some("role") => FieldType::Role,
        _ => {
            return node
                .refuse(errors, "must be boolean, integer, number, text, choice, color, channel or role");
        }
    })
}

fn bounds(members: &mut Fields<'_, '_>, errors: &mut FieldErrors) -> Option<Bounds> {
    let number = |node: Node<'_, '_>, errors: &mut FieldErrors| node.number(Ok, errors);
    let min = optional(members, "min", errors, number);
    let max = optional(members, "max", errors, number);
    let unit = optional(members, "unit", errors, Node::text::<Title>);
    Some(Bounds { min: min?, max: max?, unit: unit? })
}

fn choice(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Choice> {
    let mut members = node.fields(errors)?;
    let (value, title) = (required(&mut members, "value", errors), required(&mut members, "title", errors));
    members.finish(errors);
    Some(Choice { value: value?, title: title? })
}

fn many(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Many> {
    let mut members = node.fields(errors)?;
    let min = optional(&mut members, "min", errors, length);
    let max = members.required("max", errors).and_then(|node| length(node, errors));
    members.finish(errors);
    Some(Many { min: min?.unwrap_or(0), max: max? })
}

fn length(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<u32> {
    let number = node.value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..=4e9).contains(number));
    number.map(|number| number as u32).or_else(|| node.refuse(errors, "must be a whole number of at least 0"))
}

/// Reads a member that must be there.
fn required<T: FromStr<Err = Invalid>>(
    members: &mut Fields<'_, '_>,
    name: &'static str,
    errors: &mut FieldErrors,
) -> Option<T> {
    members.required(name, errors)?.text(errors)
}

/// Reads a member that may be absent or null. The outer `None` is an error.
fn optional<'v, 'p, T>(
    members: &mut Fields<'v, 'p>,
    name: &'static str,
    errors: &mut FieldErrors,
    read: impl FnOnce(Node<'v, 'p>, &mut FieldErrors) -> Option<T>,
) -> Option<Option<T>> {
    match members.optional(name).filter(|node| !node.value.is_null()) {
        Some(node) => read(node, errors).map(Some),
        None => Some(None),
    }
}

/// Reads a value of any type.
fn value(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Value> {
    const EXPECTED: &str = "must be true, false, a number, text or a list of text";
    match node.value {
        Json::Bool(on) => Some(Value::Boolean(*on)),
        Json::Number(number) => {
            number.as_f64().and_then(Value::number).or_else(|| node.refuse(errors, EXPECTED))
        }
        Json::String(text) => Some(Value::Text(text.as_str().into())),
        Json::Array(_) => {
            let text = |node: Node<'_, '_>, errors: &mut FieldErrors| {
                node.value.as_str().map(Box::from).or_else(|| node.refuse(errors, "must be text"))
            };
            node.list(errors, text).map(Value::List)
        }
        Json::Null | Json::Object(_) => node.refuse(errors, EXPECTED),
    }
}

/// Reads a confirmation: the revision that the bot acts by, and its problems.
pub fn read_confirmation(body: &Document) -> Result<(u64, Vec<Problem>), Vec<FieldError>> {
    read_document(body, |node, errors| {
        let mut members = node.fields(errors)?;
        let revision = members.required("revision", errors).and_then(|node| {
            node.value.as_u64().or_else(|| node.refuse(errors, "must be a whole number of at least 0"))
        });
        let problems = optional(&mut members, "problems", errors, |node, errors| node.list(errors, problem));
        members.finish(errors);
        Some((revision?, problems?.unwrap_or_default()))
    })
}

fn problem(node: Node<'_, '_>, errors: &mut FieldErrors) -> Option<Problem> {
    let mut members = node.fields(errors)?;
    let (key, message) = (required(&mut members, "key", errors), required(&mut members, "message", errors));
    members.finish(errors);
    Some(Problem { key: key?, message: message? })
}

/// Describes a field of a schema.
fn field_schema() -> Json {
    json!({
        "type": "object", "additionalProperties": false, "required": ["key", "type", "title"],
        "properties": {
            "key": {"type": "string", "pattern": PartKey::PATTERN},
            "type": {"type": "string", "enum": [
                "boolean", "integer", "number", "text", "choice", "color", "channel", "role"
            ]},
            "title": {"type": "string", "minLength": 1, "maxLength": 80},
            "description": {"type": ["string", "null"], "maxLength": 400},
            "default": {"description": "The value of a guild that set none."},
            "min": {"type": ["number", "null"]},
            "max": {"type": ["number", "null"]},
            "unit": {"type": ["string", "null"], "minLength": 1, "maxLength": 80},
            "min_length": {"type": ["integer", "null"], "minimum": 0},
            "max_length": {
                "type": ["integer", "null"], "minimum": 1, "maximum": FieldType::MAX_LENGTH
            },
            "multiline": {"type": ["boolean", "null"]},
            "choices": {"type": "array", "minItems": 1, "maxItems": 50, "items": {
                "type": "object", "additionalProperties": false, "required": ["value", "title"],
                "properties": {
                    "value": {"type": "string", "minLength": 1, "maxLength": 80},
                    "title": {"type": "string", "minLength": 1, "maxLength": 80}
                }
            }},
            "kinds": {"type": ["array", "null"], "items": {
                "type": "string",
                "enum": ChannelKind::ALL.map(ChannelKind::as_str)
            }},
            "many": {
                "type": ["object", "null"], "additionalProperties": false, "required": ["max"],
                "properties": {
                    "min": {"type": ["integer", "null"], "minimum": 0},
                    "max": {"type": "integer", "minimum": 1, "maximum": Many::MOST}
                }
            }
        }
    })
}

/// Declares a body for the OpenAPI document, with its schema and an example.
macro_rules! described {
    ($($(#[$doc:meta])+ $name:ident { schema: $schema:tt, example: $example:tt })+) => {$(
        $(#[$doc])+
        #[derive(Debug)]
        pub enum $name {}

        impl $name {
            /// Returns an example.
            #[must_use]
            pub fn example() -> Json {
                json!($example)
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<openapi::Schema> {
                serde_json::from_value(json!($schema)).unwrap_or_else(|_| ObjectBuilder::new().into())
            }
        }

        impl ToSchema for $name {}
    )+};
}

described! {
    /// The schema of settings.
    SentSchema {
        schema: {
            "type": "object", "additionalProperties": false, "required": ["sections"],
            "description": "What people can set in each guild.",
            "properties": {
                "sections": {"type": "array", "maxItems": Schema::MAX_SECTIONS, "items": {
                    "type": "object", "additionalProperties": false,
                    "required": ["key", "title", "permission", "fields"],
                    "properties": {
                        "key": {"type": "string", "pattern": PartKey::PATTERN},
                        "title": {"type": "string", "minLength": 1, "maxLength": 80},
                        "description": {"type": ["string", "null"], "maxLength": 400},
                        "permission": {
                            "type": "string", "description": "Who may edit the section.",
                            "enum": Permission::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>()
                        },
                        "plus": {"type": ["boolean", "null"], "description": "Whether only premium guilds have it."},
                        "visible": {
                            "type": ["boolean", "null"],
                            "description": "Whether everyone who sees the guild sees the values."
                        },
                        "fields": {
                            "type": "array", "minItems": 1, "maxItems": Schema::MAX_FIELDS, "items": field_schema()
                        }
                    }
                }}
            }
        },
        example: {"sections": [{
            "key": "welcome", "title": "Welcome", "permission": "MANAGE_SERVER", "fields": [
                {"key": "on", "type": "boolean", "title": "Greet new members", "default": true},
                {"key": "channel", "type": "channel", "title": "Channel", "kinds": ["text"]},
            ]
        }]}
    }
    /// A change of a guild's settings.
    SettingsPatch {
        schema: {
            "type": "object", "additionalProperties": false, "required": ["values"],
            "description": "Values to set.",
            "properties": {
                "values": {
                    "type": "object", "additionalProperties": true,
                    "description": "By `section.field`; null returns a field to its default."
                },
                "by": {
                    "type": ["string", "null"], "pattern": crate::pattern::from_one_to(u64::MAX),
                    "description": "The user on whose behalf the bot makes the change."
                }
            }
        },
        example: {"values": {"welcome.channel": "190000000000000011", "welcome.on": null}}
    }
    /// A confirmation of the bot.
    SettingsConfirmation {
        schema: {
            "type": "object", "additionalProperties": false, "required": ["revision"],
            "description": "What the bot acts by.",
            "properties": {
                "revision": {"type": "integer", "minimum": 0},
                "problems": {"type": ["array", "null"], "items": {
                    "type": "object", "additionalProperties": false, "required": ["key", "message"],
                    "properties": {
                        "key": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,31}\\.[a-z][a-z0-9_]{0,31}$"},
                        "message": {"type": "string", "maxLength": 400}
                    }
                }}
            }
        },
        example: {"revision": 7, "problems": [
            {"key": "welcome.channel", "message": "I may not write in this channel."}
        ]}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptions_accept_their_examples() {
        for (name, schema, example) in [
            ("SentSchema", SentSchema::schema(), SentSchema::example()),
            ("SettingsPatch", SettingsPatch::schema(), SettingsPatch::example()),
            ("SettingsConfirmation", SettingsConfirmation::schema(), SettingsConfirmation::example()),
        ] {
            let schema = json!(schema);
            assert_eq!(schema["additionalProperties"], json!(false), "{name}: {schema}");
            assert!(jsonschema::validate(&schema, &example).is_ok(), "{name}");
        }
    }

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
            "sections[0].fields[2].type",
            "sections[0].fields[3].choices",
        ] {
            assert!(paths.contains(&path), "{path} is not in {paths:?}");
        }
    }

    #[test]
    fn a_confirmation_names_its_problems() {
        let (revision, problems) = read_confirmation(&Ok(SettingsConfirmation::example())).unwrap();
        assert_eq!((revision, problems.len()), (7, 1));
        let wrong = json!({"revision": -1, "problems": [{"key": "a", "message": 1}], "more": 1});
        let errors = read_confirmation(&Ok(wrong)).unwrap_err();
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["revision", "problems[0].key", "problems[0].message", "more"]);
    }
}
