//! What settings a bot has: sections of typed fields.

use super::{
    Field, Value, Values,
    field::{at, repeated},
};
use crate::{
    model::{Description, FieldError, Title},
    named::checked_text,
    policy::Permission,
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::collections::BTreeMap;

checked_text!(
    /// The key of a section, or of a field in its section.
    PartKey,
    "key",
    "a lowercase letter and up to 31 lowercase letters, digits or _",
    is_part
);

fn is_part(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|first| first.is_ascii_lowercase());
    let goes_on = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    starts && goes_on && text.len() <= 32
}

impl PartKey {
    /// What it looks like, as a regular expression.
    pub const PATTERN: &'static str = "[a-z][a-z0-9_]{0,31}";
}

checked_text!(
    /// The key of a value: `section.field`.
    SettingKey,
    "key",
    "the keys of a section and of its field, like welcome.channel",
    |text| text.split_once('.').is_some_and(|(section, field)| is_part(section) && is_part(field))
);

impl SettingKey {
    /// The key of a field in a section.
    #[must_use]
    pub fn new(section: &PartKey, field: &PartKey) -> Self {
        Self(format!("{}.{}", section.as_str(), field.as_str()).into())
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once('.').unwrap_or_default()
    }
}

/// Everything a bot lets people set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Schema {
    #[serde(deserialize_with = "valid")]
    sections: Vec<Section>,
}

fn valid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Section>, D::Error> {
    let schema = Schema::new(Vec::deserialize(deserializer)?);
    schema.map(|schema| schema.sections).map_err(|errors| D::Error::custom(format_args!("{errors:?}")))
}

/// Fields that belong together and are edited under one permission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its key.
    pub key: PartKey,
    /// What people read.
    pub title: Title,
    /// A sentence below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// Who may edit it.
    pub permission: Permission,
    /// Whether only premium guilds have it.
    #[serde(default)]
    pub plus: bool,
    /// Whether users who may not edit it see its values.
    #[serde(default)]
    pub visible: bool,
    /// Its fields, in the order in which they are shown.
    pub fields: Vec<Field>,
}

impl Schema {
    /// Maximum number of sections.
    pub const MAX_SECTIONS: usize = 30;
    /// Maximum number of fields, of all sections together.
    pub const MAX_FIELDS: usize = 200;

    /// Creates a schema. `Err` has every error with its path.
    pub fn new(sections: Vec<Section>) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        if sections.len() > Self::MAX_SECTIONS {
            errors.push(FieldError::new("sections", "must be a list of at most 30"));
        }
        if sections.iter().map(|section| section.fields.len()).sum::<usize>() > Self::MAX_FIELDS {
            errors.push(FieldError::new("sections", "must have at most 200 fields together"));
        }
        for place in repeated(sections.iter().map(|section| Some(&section.key))) {
            errors.push(FieldError::new(format!("sections[{place}].key"), "is used before"));
        }
        for (place, section) in sections.iter().enumerate() {
            let here = format!("sections[{place}]");
            if section.fields.is_empty() {
                errors.push(FieldError::new(format!("{here}.fields"), "must have at least one field"));
            }
            for place in repeated(section.fields.iter().map(|field| Some(&field.key))) {
                errors.push(FieldError::new(format!("{here}.fields[{place}].key"), "is used before"));
            }
            for (place, field) in section.fields.iter().enumerate() {
                let here = format!("{here}.fields[{place}]");
                errors.extend(field.problems().into_iter().map(|error| at(&here, error)));
            }
        }
        if errors.is_empty() { Ok(Self { sections }) } else { Err(errors) }
    }

    /// Returns the sections, in the order in which they are shown.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Returns the field under a key, with its section.
    #[must_use]
    pub fn find(&self, key: &SettingKey) -> Option<(&Section, &Field)> {
        let (section, field) = key.parts();
        let section = self.sections.iter().find(|known| known.key.as_str() == section)?;
        section.fields.iter().find(|known| known.key.as_str() == field).map(|field| (section, field))
    }

    /// Returns the values of all fields: what is set and still valid, otherwise the default. `None` is unset.
    #[must_use]
    pub fn effective<'a>(&'a self, set: &'a Values) -> BTreeMap<SettingKey, Option<&'a Value>> {
        let fields = self.sections.iter().flat_map(|section| {
            section.fields.iter().map(move |field| (SettingKey::new(&section.key, &field.key), field))
        });
        let value = |key: &SettingKey, field: &'a Field| field.valid(set.get(key)).or(field.default.as_ref());
        fields.map(|(key, field)| (key.clone(), value(&key, field))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::ChannelKind,
        settings::{
            FieldType, Many,
            field::tests::{SHORT, bounds, choices, field, list, text},
        },
    };
    use proptest::{collection::vec, option, prelude::*};

    fn key(text: &str) -> SettingKey {
        text.parse().unwrap()
    }

    fn section(name: &str, fields: Vec<Field>) -> Section {
        let (key, title) = (name.parse().unwrap(), "A section".parse().unwrap());
        let permission = Permission::ManageServer;
        Section { key, title, description: None, permission, plus: false, visible: false, fields }
    }

    #[test]
    fn keys_have_one_form() {
        for good in ["a", "a_1", &"a".repeat(32)] {
            assert_eq!(good.parse::<PartKey>().unwrap().as_str(), good);
        }
        for bad in ["", "A", "1a", "_a", "a-b", "a.b", "é", &"a".repeat(33)] {
            assert!(bad.parse::<PartKey>().is_err(), "{bad:?}");
        }
        assert_eq!(key("a.b").parts(), ("a", "b"));
        for bad in ["a", "a.", ".b", "a.b.c", "A.b"] {
            assert!(bad.parse::<SettingKey>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_wrong_schema_names_every_mistake_by_path() {
        let bounded = |min_length, max_length| {
            field(FieldType::Text { min_length, max_length, multiline: false }, None, None)
        };
        let wrong = [
            (field(FieldType::Boolean, Some(Many { min: 0, max: 1 }), None), "many"),
            (field(SHORT, Some(Many { min: 0, max: 51 }), None), "many.max"),
            (field(SHORT, Some(Many { min: 3, max: 2 }), None), "many.min"),
            (field(FieldType::Integer(bounds(Some(2.0), Some(1.0))), None, None), "min"),
            (field(FieldType::Integer(bounds(None, Some(1.5))), None, None), "max"),
            (bounded(0, 4_001), "max_length"),
            (bounded(0, 0), "max_length"),
            (bounded(2, 1), "min_length"),
            (field(choices(&[]), None, None), "choices"),
            (field(choices(&["a", "b", "a"]), None, None), "choices[2].value"),
            (field(FieldType::Channel { kinds: vec![ChannelKind::Text; 2] }, None, None), "kinds[1]"),
            (field(SHORT, None, Some(text("long"))), "default"),
            (field(SHORT, Some(Many { min: 0, max: 2 }), Some(list(&["a", "long"]))), "default[1]"),
        ];
        let expected: Vec<_> = wrong
            .iter()
            .enumerate()
            .map(|(at, (_, path))| format!("sections[{at}].fields[0].{path}"))
            .collect();
        let sections = wrong.into_iter().enumerate();
        let sections = sections.map(|(at, (field, _))| section(&format!("s{at}"), vec![field])).collect();
        let paths: Vec<_> = Schema::new(sections).unwrap_err().into_iter().map(|error| error.path).collect();
        assert_eq!(paths, expected);

        let boolean = || field(FieldType::Boolean, None, None);
        for (sections, path) in [
            (vec![section("a", vec![boolean()]), section("a", vec![boolean()])], "sections[1].key"),
            (vec![section("a", vec![boolean(), boolean()])], "sections[0].fields[1].key"),
            (vec![section("a", vec![])], "sections[0].fields"),
            ((0..31).map(|at| section(&format!("s{at}"), vec![boolean()])).collect(), "sections"),
        ] {
            assert_eq!(Schema::new(sections).unwrap_err()[0].path, path);
        }
        let many = |count: usize| {
            let fields = (0..count).map(|at| Field { key: format!("f{at}").parse().unwrap(), ..boolean() });
            Schema::new(vec![section("a", fields.collect())])
        };
        assert!(many(200).is_ok());
        assert_eq!(many(201).unwrap_err()[0].path, "sections");
    }

    #[test]
    fn effective_values_ignore_what_the_schema_refuses() {
        let fields = ["on", "name", "unset"].map(|name| {
            let default = (name == "name").then(|| text("abc"));
            let field_type = if name == "on" { FieldType::Boolean } else { SHORT };
            Field { key: name.parse().unwrap(), ..field(field_type, None, default) }
        });
        let schema = Schema::new(vec![section("a", fields.into())]).unwrap();
        let values = |entries: &[(&str, Value)]| -> Values {
            entries.iter().map(|(name, value)| (key(name), value.clone())).collect()
        };
        let (on, name) = (Value::Boolean(true), text("x"));
        for (set, expected) in [
            (values(&[]), [None, Some(text("abc")), None]),
            (values(&[("a.on", on.clone()), ("a.name", name.clone())]), [Some(on), Some(name), None]),
            (
                values(&[("a.on", text("x")), ("a.name", text("long")), ("b.c", text("x"))]),
                [None, Some(text("abc")), None],
            ),
        ] {
            let effective = schema.effective(&set);
            let found = ["a.on", "a.name", "a.unset"].map(|name| effective[&key(name)].cloned());
            assert_eq!(found, expected);
            assert_eq!(effective.len(), 3);
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Boolean),
            (-5..5_i32).prop_map(|number| Value::Number(f64::from(number) / 2.0)),
            any::<f64>().prop_filter_map("finite", Value::number),
            "[a-c\n]{0,4}|#[0-9a-fg]{6}|[0-9]{1,20}".prop_map(|text| Value::Text(text.into())),
            vec("[a-c\n]{0,4}".prop_map(Into::into), 0..4).prop_map(Value::List),
        ]
    }

    fn any_type() -> impl Strategy<Value = FieldType> {
        let bound = || option::of((-4..4_i32).prop_map(|bound| f64::from(bound) / 2.0));
        let bounds = move || (bound(), bound()).prop_map(|(min, max)| bounds(min, max));
        let kinds = vec(proptest::sample::select(&ChannelKind::ALL[..]), 0..3);
        prop_oneof![
            Just(FieldType::Boolean),
            bounds().prop_map(FieldType::Integer),
            bounds().prop_map(FieldType::Number),
            (0..4_u32, 0..5_u32, any::<bool>()).prop_map(|(min_length, max_length, multiline)| {
                FieldType::Text { min_length, max_length, multiline }
            }),
            vec("[a-c]{1,2}", 0..4)
                .prop_map(|values| { choices(&values.iter().map(String::as_str).collect::<Vec<_>>()) }),
            Just(FieldType::Color),
            kinds.prop_map(|kinds| FieldType::Channel { kinds }),
            Just(FieldType::Role),
        ]
    }

    fn samples() -> u32 {
        if std::env::var("SETTINGS").is_ok_and(|size| size == "full") { 1_000 } else { 50 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(samples()))]

        /// A schema is accepted or names paths; of a schema that is accepted, so is each value. `SETTINGS=full` tries a
        /// thousand of each.
        #[test]
        fn random_schemas_and_values_are_accepted_or_named(
            field_type in any_type(),
            many in option::of((0..3_u32, 0..4_u32).prop_map(|(min, max)| Many { min, max })),
            default in option::of(any_value()),
            values in vec(any_value(), samples() as usize),
        ) {
            match Schema::new(vec![section("a", vec![field(field_type, many, default)])]) {
                Err(errors) => {
                    prop_assert!(!errors.is_empty());
                    for error in errors {
                        prop_assert!(error.path.starts_with("sections[0].fields[0].") && !error.message.is_empty());
                    }
                }
                Ok(schema) => for value in values {
                    let field = &schema.sections()[0].fields[0];
                    let set: Values = [(key("a.field"), value.clone())].into_iter().collect();
                    let effective = schema.effective(&set)[&key("a.field")].cloned();
                    match field.check(&value) {
                        Ok(()) => prop_assert_eq!(effective, Some(value)),
                        Err(error) => {
                            prop_assert!(error.path.is_empty() || error.path.starts_with('['));
                            prop_assert_eq!(&effective, &field.default);
                        }
                    }
                },
            }
        }
    }
}
