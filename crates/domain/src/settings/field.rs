//! Fields: types of values, and the checks of each.

use super::{
    PartKey, Value,
    value::{is_integer, write_number},
};
use crate::{
    model::{ChannelId, ChannelKind, Colour, Description, FieldError, Invalid, RoleId, Title},
    named::named,
};
use serde::{Deserialize, Serialize, Serializer};
use std::{collections::BTreeSet, ops::RangeInclusive};

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

named! {
    /// The types of fields, without their options.
    FieldKind {
        Boolean = "boolean",
        Integer = "integer",
        Number = "number",
        Text = "text",
        Choice = "choice",
        Color = "color",
        Channel = "channel",
        Role = "role",
    }
    parsed as "type": "boolean, integer, number, text, choice, color, channel or role"
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
    /// Maximum number of entries of any list.
    pub const MOST: u32 = 50;
}

impl FieldType {
    /// The longest text.
    pub const MAX_LENGTH: u32 = 4_000;
    /// How many choices there may be.
    pub const CHOICES: RangeInclusive<usize> = 1..=50;

    const fn has_many(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Choice { .. } | Self::Channel { .. } | Self::Role)
    }

    /// Everything that is wrong with the options, by the name of the option.
    fn problems(&self) -> Vec<FieldError> {
        let mut problems = Vec::new();
        match self {
            Self::Integer(Bounds { min, max, .. }) | Self::Number(Bounds { min, max, .. }) => {
                if min.zip(*max).is_some_and(|(min, max)| min > max) {
                    problems.push(FieldError::new("min", "must not be above max"));
                }
                for (name, bound) in [("min", min), ("max", max)] {
                    if matches!(self, Self::Integer(_)) && !bound.is_none_or(is_integer) {
                        problems.push(FieldError::new(name, INTEGER));
                    }
                }
            }
            Self::Text { min_length, max_length, .. } => {
                if *max_length > Self::MAX_LENGTH || *max_length == 0 {
                    problems.push(FieldError::new("max_length", "must be a whole number from 1 to 4000"));
                }
                if min_length > max_length {
                    problems.push(FieldError::new("min_length", "must not be above max_length"));
                }
            }
            Self::Choice { choices } => {
                if !Self::CHOICES.contains(&choices.len()) {
                    problems.push(FieldError::new("choices", "must be a list of 1 to 50"));
                }
                for place in repeated(choices.iter().map(|choice| Some(&choice.value))) {
                    problems.push(FieldError::new(format!("choices[{place}].value"), "is used before"));
                }
            }
            Self::Channel { kinds } => {
                for place in repeated(kinds.iter().map(Some)) {
                    problems.push(FieldError::new(format!("kinds[{place}]"), "is named before"));
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
            (Self::Integer(bounds), Value::Number(number)) if is_integer(*number) => bounds.check(*number),
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
    /// Returns every error of the field by itself, each with the name of its option.
    #[must_use]
    pub fn problems(&self) -> Vec<FieldError> {
        let mut problems = self.field_type.problems();
        if let Some(many) = self.many {
            if !self.field_type.has_many() {
                problems.push(FieldError::new("many", "is for text, choice, channel and role"));
            }
            if !(1..=Many::MOST).contains(&many.max) {
                problems.push(FieldError::new("many.max", "must be a whole number from 1 to 50"));
            }
            if many.min > many.max {
                problems.push(FieldError::new("many.min", "must not be above max"));
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
            return self.field_type.check(value).map_err(|message| FieldError::new("", message));
        };
        let Value::List(items) = value else { return Err(FieldError::new("", "must be a list of text")) };
        if !(many.min as usize..=many.max as usize).contains(&items.len()) {
            return Err(FieldError::new("", format!("must have {} to {} entries", many.min, many.max)));
        }
        if let Some(place) = repeated(items.iter().map(Some)).first() {
            return Err(FieldError::new(format!("[{place}]"), "is in the list before"));
        }
        items.iter().enumerate().try_for_each(|(place, item)| {
            self.field_type.check_text(item).map_err(|message| FieldError::new(format!("[{place}]"), message))
        })
    }
}

/// Prepends a path to that of an error.
pub(super) fn at(path: &str, error: FieldError) -> FieldError {
    let separator = if error.path.is_empty() || error.path.starts_with('[') { "" } else { "." };
    FieldError { path: format!("{path}{separator}{}", error.path), ..error }
}

/// Returns the places of entries that equal an earlier one. `None` equals no other.
pub fn repeated<'a, T: Ord + ?Sized + 'a>(entries: impl Iterator<Item = Option<&'a T>>) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let is_repeated = |(place, entry): (usize, Option<&'a T>)| {
        entry.is_some_and(|entry| !seen.insert(entry)).then_some(place)
    };
    entries.enumerate().filter_map(is_repeated).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::settings) fn field(
        field_type: FieldType,
        many: Option<Many>,
        default: Option<Value>,
    ) -> Field {
        let (key, title) = ("field".parse().unwrap(), "A field".parse().unwrap());
        Field { key, title, description: None, field_type, many, default }
    }

    pub(in crate::settings) fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    pub(in crate::settings) fn list(items: &[&str]) -> Value {
        Value::List(items.iter().map(|item| (*item).into()).collect())
    }

    pub(in crate::settings) fn choices(values: &[&str]) -> FieldType {
        let choice = |value: &&str| Choice { value: value.parse().unwrap(), title: value.parse().unwrap() };
        FieldType::Choice { choices: values.iter().map(choice).collect() }
    }

    pub(in crate::settings) fn bounds(min: Option<f64>, max: Option<f64>) -> Bounds {
        Bounds { min, max, unit: None }
    }

    pub(in crate::settings) const SHORT: FieldType =
        FieldType::Text { min_length: 1, max_length: 3, multiline: false };

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
            assert_eq!(field.check(&bad), Err(FieldError::new("", message)));
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
            assert_eq!(many.check(&bad), Err(FieldError::new(path, message)));
        }
        assert!(field(SHORT, None, None).check(&list(&["a"])).is_err());
    }
}
