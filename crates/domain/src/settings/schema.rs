//! What settings a bot has: sections of typed fields.

use super::{
    Value, Values,
    value::{LARGEST_INTEGER, write_number},
};
use crate::{
    model::{ChannelId, ChannelKind, Colour, Description, FieldError, Invalid, RoleId, Title},
    policy::Permission,
};
use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::RangeInclusive,
    str::FromStr,
};

/// The key of a section, or of a field in its section.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PartKey(Box<str>);

impl PartKey {
    /// What it looks like, as a regular expression.
    pub const PATTERN: &'static str = "^[a-z][a-z0-9_]{0,31}$";

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PartKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut bytes = text.bytes();
        let starts = bytes.next().is_some_and(|first| first.is_ascii_lowercase());
        let goes_on = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if starts && goes_on && text.len() <= 32 {
            Ok(Self(text.into()))
        } else {
            Err(Invalid::new("key", "a lowercase letter and up to 31 lowercase letters, digits or _"))
        }
    }
}

/// The key of a value: `section.field`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SettingKey(Box<str>);

impl SettingKey {
    /// The key of a field in a section.
    #[must_use]
    pub fn new(section: &PartKey, field: &PartKey) -> Self {
        Self(format!("{}.{}", section.as_str(), field.as_str()).into())
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> (&str, &str) {
        self.0.split_once('.').unwrap_or_default()
    }
}

impl FromStr for SettingKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let expected = Invalid::new("key", "the keys of a section and of its field, like welcome.channel");
        let (section, field) = text.split_once('.').ok_or_else(|| expected.clone())?;
        let parsed = section.parse().and_then(|section| Ok(Self::new(&section, &field.parse()?)));
        parsed.map_err(|_| expected)
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything a bot lets people set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Schema {
    sections: Vec<Section>,
}

#[derive(Deserialize)]
struct Unchecked {
    sections: Vec<Section>,
}

impl TryFrom<Unchecked> for Schema {
    type Error = String;

    fn try_from(Unchecked { sections }: Unchecked) -> Result<Self, String> {
        Self::new(sections).map_err(|errors| format!("{errors:?}"))
    }
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

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Its key.
    pub key: PartKey,
    /// What people read.
    pub title: Title,
    /// A sentence below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// What values it has.
    #[serde(flatten)]
    pub field_type: FieldType,
    /// Present if the value is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many: Option<Many>,
    /// The value of a guild that set none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The types of fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FieldType {
    /// On or off.
    Boolean,
    /// A whole number that every JSON parser reads exactly.
    Integer(Bounds),
    /// Any finite number.
    Number(Bounds),
    /// Text of some length.
    Text {
        /// The fewest characters.
        #[serde(default)]
        min_length: u32,
        /// The most characters.
        #[serde(default = "max_length")]
        max_length: u32,
        /// Whether it may have line breaks.
        #[serde(default)]
        multiline: bool,
    },
    /// One of a list.
    Choice {
        /// What there is to choose.
        choices: Vec<Choice>,
    },
    /// `#RRGGBB`.
    Color,
    /// The id of a channel.
    Channel {
        /// What kinds of channels are offered. All if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kinds: Vec<ChannelKind>,
    },
    /// The id of a role.
    Role,
}

/// What a number may be.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "write_bound")]
    pub min: Option<f64>,
    /// The largest.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "write_bound")]
    pub max: Option<f64>,
    /// What it counts, as people read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Title>,
}

/// One of the values of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is stored.
    pub value: Title,
    /// What people read.
    pub title: Title,
}

/// How long a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Many {
    /// The fewest entries.
    #[serde(default)]
    pub min: u32,
    /// The most entries.
    pub max: u32,
}

fn write_bound<S: Serializer>(bound: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match bound {
        Some(bound) => write_number(bound, serializer),
        None => serializer.serialize_none(),
    }
}

const fn max_length() -> u32 {
    FieldType::MAX_LENGTH
}

impl Many {
    /// The most entries that any list may have.
    pub const MOST: u32 = 50;
}

impl FieldType {
    /// The longest text.
    pub const MAX_LENGTH: u32 = 4_000;
    /// How many choices there may be.
    pub const CHOICES: RangeInclusive<usize> = 1..=50;

    /// The name used outside.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer(_) => "integer",
            Self::Number(_) => "number",
            Self::Text { .. } => "text",
            Self::Choice { .. } => "choice",
            Self::Color => "color",
            Self::Channel { .. } => "channel",
            Self::Role => "role",
        }
    }

    const fn has_many(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Choice { .. } | Self::Channel { .. } | Self::Role)
    }

    /// Everything that is wrong with the options, by the name of the option.
    fn problems(&self) -> Vec<FieldError> {
        let mut problems = Vec::new();
        match self {
            Self::Integer(Bounds { min, max, .. }) | Self::Number(Bounds { min, max, .. }) => {
                if min.zip(*max).is_some_and(|(min, max)| min > max) {
                    problems.push(problem("min", "must not be above max"));
                }
                let whole = |bound: &f64| bound.fract() == 0.0 && bound.abs() <= LARGEST_INTEGER;
                let is_integer = matches!(self, Self::Integer(_));
                for (name, bound) in [("min", min), ("max", max)] {
                    if is_integer && bound.as_ref().is_some_and(|bound| !whole(bound)) {
                        problems.push(problem(name, INTEGER));
                    }
                }
            }
            Self::Text { min_length, max_length, .. } => {
                if *max_length > Self::MAX_LENGTH || *max_length == 0 {
                    problems.push(problem("max_length", "must be a whole number from 1 to 4000"));
                }
                if min_length > max_length {
                    problems.push(problem("min_length", "must not be above max_length"));
                }
            }
            Self::Choice { choices } => {
                if !Self::CHOICES.contains(&choices.len()) {
                    problems.push(problem("choices", "must be a list of 1 to 50"));
                }
                for place in repeated(choices.iter().map(|choice| Some(&choice.value))) {
                    problems.push(problem(&format!("choices[{place}].value"), "is used before"));
                }
            }
            Self::Channel { kinds } => {
                for place in repeated(kinds.iter().map(Some)) {
                    problems.push(problem(&format!("kinds[{place}]"), "is named before"));
                }
            }
            Self::Boolean | Self::Color | Self::Role => {}
        }
        problems
    }

    /// Checks one value, not a list. `Err` says what it must be.
    fn check(&self, value: &Value) -> Result<(), String> {
        match (self, value) {
            (Self::Boolean, Value::Boolean(_)) => Ok(()),
            (Self::Boolean, _) => Err("must be true or false".into()),
            (Self::Integer(bounds), Value::Number(number)) => {
                let is_whole = number.fract() == 0.0 && number.abs() <= LARGEST_INTEGER;
                if is_whole { bounds.check(*number) } else { Err(INTEGER.into()) }
            }
            (Self::Integer(_), _) => Err(INTEGER.into()),
            (Self::Number(bounds), Value::Number(number)) => bounds.check(*number),
            (Self::Number(_), _) => Err("must be a number".into()),
            (_, Value::Text(text)) => self.check_text(text),
            _ => Err("must be text".into()),
        }
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Text { min_length, max_length, multiline } => {
                let length = text.chars().count();
                if !(*min_length as usize..=*max_length as usize).contains(&length) {
                    return Err(format!("must have {min_length} to {max_length} characters"));
                }
                if !multiline && text.contains(['\n', '\r']) {
                    return Err("must not have line breaks".into());
                }
                if text.contains('\0') {
                    return Err("must not have NUL characters".into());
                }
                Ok(())
            }
            Self::Choice { choices } => {
                let is_choice = choices.iter().any(|choice| choice.value.as_str() == text);
                let named =
                    || choices.iter().map(|choice| choice.value.as_str()).collect::<Vec<_>>().join(", ");
                if is_choice { Ok(()) } else { Err(format!("must be one of {}", named())) }
            }
            Self::Color => expect(text.parse::<Colour>()),
            Self::Channel { .. } => expect(text.parse::<ChannelId>()),
            Self::Role => expect(text.parse::<RoleId>()),
            Self::Boolean | Self::Integer(_) | Self::Number(_) => Ok(()),
        }
    }
}

const INTEGER: &str = "must be a whole number from -9007199254740991 to 9007199254740991";

fn problem(path: &str, message: &str) -> FieldError {
    FieldError { path: path.to_owned(), message: message.to_owned() }
}

fn expect<T>(parsed: Result<T, Invalid>) -> Result<(), String> {
    parsed.map(drop).map_err(|invalid| format!("must be {}", invalid.expected))
}

impl Bounds {
    fn check(&self, number: f64) -> Result<(), String> {
        match (self.min, self.max) {
            (Some(min), Some(max)) if !(min..=max).contains(&number) => {
                Err(format!("must be from {min} to {max}"))
            }
            (Some(min), None) if number < min => Err(format!("must be at least {min}")),
            (None, Some(max)) if number > max => Err(format!("must be at most {max}")),
            _ => Ok(()),
        }
    }
}

impl Field {
    /// Everything that is wrong with the field by itself, by the name of the option.
    #[must_use]
    pub fn problems(&self) -> Vec<FieldError> {
        let mut problems = self.field_type.problems();
        if let Some(many) = self.many {
            if !self.field_type.has_many() {
                problems.push(problem("many", "is for text, choice, channel and role"));
            }
            if !(1..=Many::MOST).contains(&many.max) {
                problems.push(problem("many.max", "must be a whole number from 1 to 50"));
            }
            if many.min > many.max {
                problems.push(problem("many.min", "must not be above max"));
            }
        }
        // A default is judged by options that are right: otherwise it would be blamed for them.
        if let (true, Some(default)) = (problems.is_empty(), &self.default) {
            problems.extend(self.check(default).map_err(|error| at("default", error)).err());
        }
        problems
    }

    /// Returns the stored value of the field, unless the schema no longer accepts it.
    #[must_use]
    pub fn valid<'a>(&self, stored: Option<&'a Value>) -> Option<&'a Value> {
        stored.filter(|value| self.check(value).is_ok())
    }

    /// Checks a value. The path of an error is empty, or the place in a list: `[2]`.
    pub fn check(&self, value: &Value) -> Result<(), FieldError> {
        let Some(many) = self.many else {
            return self.field_type.check(value).map_err(|message| problem("", &message));
        };
        let Value::List(items) = value else { return Err(problem("", "must be a list of text")) };
        if !(many.min as usize..=many.max as usize).contains(&items.len()) {
            return Err(problem("", &format!("must have {} to {} entries", many.min, many.max)));
        }
        if let Some(place) = repeated(items.iter().map(Some)).first() {
            return Err(problem(&format!("[{place}]"), "is in the list before"));
        }
        items.iter().enumerate().try_for_each(|(place, item)| {
            self.field_type.check_text(item).map_err(|message| problem(&format!("[{place}]"), &message))
        })
    }
}

/// Prepends a path to that of an error.
fn at(path: &str, error: FieldError) -> FieldError {
    let separator = if error.path.is_empty() || error.path.starts_with('[') { "" } else { "." };
    FieldError { path: format!("{path}{separator}{}", error.path), ..error }
}

/// The places of entries that an earlier entry equals. `None` equals no other.
pub fn repeated<'a, T: Ord + 'a>(entries: impl Iterator<Item = Option<&'a T>>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let is_repeated = |(place, entry): (usize, Option<&'a T>)| {
        entry.is_some_and(|entry| !seen.insert(entry)).then_some(place)
    };
    entries.enumerate().filter_map(is_repeated).collect()
}

impl Schema {
    /// The most sections.
    pub const MAX_SECTIONS: usize = 30;
    /// The most fields, of all sections together.
    pub const MAX_FIELDS: usize = 200;

    /// A schema of these sections. `Err` has everything that is wrong, by path.
    pub fn new(sections: Vec<Section>) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        if sections.len() > Self::MAX_SECTIONS {
            errors.push(problem("sections", "must be a list of at most 30"));
        }
        if sections.iter().map(|section| section.fields.len()).sum::<usize>() > Self::MAX_FIELDS {
            errors.push(problem("sections", "must have at most 200 fields together"));
        }
        for place in repeated(sections.iter().map(|section| Some(&section.key))) {
            errors.push(problem(&format!("sections[{place}].key"), "is used before"));
        }
        for (place, section) in sections.iter().enumerate() {
            let here = format!("sections[{place}]");
            if section.fields.is_empty() {
                errors.push(problem(&format!("{here}.fields"), "must have at least one field"));
            }
            for place in repeated(section.fields.iter().map(|field| Some(&field.key))) {
                errors.push(problem(&format!("{here}.fields[{place}].key"), "is used before"));
            }
            for (place, field) in section.fields.iter().enumerate() {
                let here = format!("{here}.fields[{place}]");
                errors.extend(field.problems().into_iter().map(|error| at(&here, error)));
            }
        }
        if errors.is_empty() { Ok(Self { sections }) } else { Err(errors) }
    }

    /// Its sections, in the order in which they are shown.
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

    /// The values of all fields: what is set and still valid, otherwise the default. `None` is unset.
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
    use proptest::{collection::vec, option, prelude::*};

    fn key(text: &str) -> SettingKey {
        text.parse().unwrap()
    }

    fn field(field_type: FieldType, many: Option<Many>, default: Option<Value>) -> Field {
        let (key, title) = ("field".parse().unwrap(), "A field".parse().unwrap());
        Field { key, title, description: None, field_type, many, default }
    }

    fn section(name: &str, fields: Vec<Field>) -> Section {
        let (key, title) = (name.parse().unwrap(), "A section".parse().unwrap());
        let permission = Permission::ManageServer;
        Section { key, title, description: None, permission, plus: false, visible: false, fields }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| (*item).into()).collect())
    }

    fn choices(values: &[&str]) -> FieldType {
        let choice = |value: &&str| Choice { value: value.parse().unwrap(), title: value.parse().unwrap() };
        FieldType::Choice { choices: values.iter().map(choice).collect() }
    }

    fn bounds(min: Option<f64>, max: Option<f64>) -> Bounds {
        Bounds { min, max, unit: None }
    }

    const SHORT: FieldType = FieldType::Text { min_length: 1, max_length: 3, multiline: false };

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
    fn each_type_accepts_its_own_values() {
        let multiline = FieldType::Text { min_length: 0, max_length: 4_000, multiline: true };
        let number = |number| Value::number(number).unwrap();
        let cases = [
            (FieldType::Boolean, Value::Boolean(true), text("true"), "must be true or false"),
            (FieldType::Integer(bounds(None, None)), number(3.0), number(3.5), INTEGER),
            (FieldType::Integer(bounds(None, None)), number(-5.0), number(1e16), INTEGER),
            (FieldType::Integer(bounds(None, None)), number(0.0), text("3"), INTEGER),
            (
                FieldType::Integer(bounds(Some(1.0), Some(9.0))),
                number(9.0),
                number(10.0),
                "must be from 1 to 9",
            ),
            (FieldType::Number(bounds(Some(0.5), None)), number(0.5), number(0.4), "must be at least 0.5"),
            (FieldType::Number(bounds(None, Some(2.0))), number(-1e300), number(2.1), "must be at most 2"),
            (FieldType::Number(bounds(None, None)), number(0.1), Value::Boolean(true), "must be a number"),
            (SHORT, text("äöü"), text("abcd"), "must have 1 to 3 characters"),
            (SHORT, text("a"), text(""), "must have 1 to 3 characters"),
            (SHORT, text("a b"), text("a\nb"), "must not have line breaks"),
            (multiline, text("a\nb"), text("a\0b"), "must not have NUL characters"),
            (choices(&["red", "blue"]), text("red"), text("green"), "must be one of red, blue"),
            (
                FieldType::Color,
                text("#1abc9C"),
                text("red"),
                "must be # and six hexadecimal digits, like #1ABC9C",
            ),
        ];
        for (field_type, good, bad, message) in cases {
            let field = field(field_type, None, None);
            assert_eq!(field.check(&good), Ok(()), "{good:?}");
            assert_eq!(field.check(&bad), Err(problem("", message)));
        }
        for field_type in [FieldType::Role, FieldType::Channel { kinds: vec![ChannelKind::Voice] }] {
            let field = field(field_type, None, None);
            assert_eq!(field.check(&text("190000000000000003")), Ok(()));
            for bad in ["0", "-1", "x", "18446744073709551616"] {
                assert!(field.check(&text(bad)).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn a_list_is_bounded_and_has_no_duplicates() {
        let many = field(SHORT, Some(Many { min: 1, max: 2 }), None);
        assert_eq!(many.check(&list(&["a", "b"])), Ok(()));
        for (bad, path, message) in [
            (text("a"), "", "must be a list of text"),
            (list(&[]), "", "must have 1 to 2 entries"),
            (list(&["a", "b", "c"]), "", "must have 1 to 2 entries"),
            (list(&["a", "a"]), "[1]", "is in the list before"),
            (list(&["a", "long"]), "[1]", "must have 1 to 3 characters"),
        ] {
            assert_eq!(many.check(&bad), Err(problem(path, message)));
        }
        assert!(field(SHORT, None, None).check(&list(&["a"])).is_err());
    }

    #[test]
    fn a_wrong_schema_names_every_mistake_by_path() {
        let wrong = [
            (field(FieldType::Boolean, Some(Many { min: 0, max: 1 }), None), "many"),
            (field(SHORT, Some(Many { min: 0, max: 51 }), None), "many.max"),
            (field(SHORT, Some(Many { min: 3, max: 2 }), None), "many.min"),
            (field(FieldType::Integer(bounds(Some(2.0), Some(1.0))), None, None), "min"),
            (field(FieldType::Integer(bounds(None, Some(1.5))), None, None), "max"),
            (
                field(FieldType::Text { min_length: 0, max_length: 4_001, multiline: false }, None, None),
                "max_length",
            ),
            (
                field(FieldType::Text { min_length: 0, max_length: 0, multiline: false }, None, None),
                "max_length",
            ),
            (
                field(FieldType::Text { min_length: 2, max_length: 1, multiline: false }, None, None),
                "min_length",
            ),
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
        let short = "[a-c\n]{0,4}";
        prop_oneof![
            any::<bool>().prop_map(Value::Boolean),
            (-5..5_i32).prop_map(|number| Value::Number(f64::from(number) / 2.0)),
            any::<f64>().prop_filter_map("finite", Value::number),
            short.prop_map(|text| Value::Text(text.into())),
            "#[0-9a-fg]{6}".prop_map(|text| Value::Text(text.into())),
            "[0-9]{1,20}".prop_map(|text| Value::Text(text.into())),
            vec(short.prop_map(Into::into), 0..4).prop_map(Value::List),
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

    fn samples() -> usize {
        if std::env::var("SETTINGS").is_ok_and(|size| size == "full") { 1_000 } else { 50 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(samples() as u32))]

        /// A schema is accepted or names paths; of a schema that is accepted, so is each value. `SETTINGS=full` tries a
        /// thousand of each.
        #[test]
        fn random_schemas_and_values_are_accepted_or_named(
            field_type in any_type(),
            many in option::of((0..3_u32, 0..4_u32).prop_map(|(min, max)| Many { min, max })),
            default in option::of(any_value()),
            values in vec(any_value(), samples()),
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
