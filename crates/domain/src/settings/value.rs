//! Values of settings.

use super::SettingKey;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;

/// The largest whole number that every JSON parser reads exactly.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A value of one field, as a schema may accept it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Of a `boolean`.
    Boolean(bool),
    /// Of an `integer` or a `number`: finite, and never negative zero.
    #[serde(serialize_with = "write_number")]
    Number(f64),
    /// Of a `text`, `choice`, `color`, `channel` or `role`.
    Text(Box<str>),
    /// Of a field with `many`.
    List(Vec<Box<str>>),
}

impl Value {
    /// A number. Returns `None` unless it is finite.
    #[must_use]
    pub fn number(number: f64) -> Option<Self> {
        // Adding zero turns negative zero into zero, which every JSON parser reads back alike.
        number.is_finite().then_some(Self::Number(number + 0.0))
    }

    /// Its size in bytes, near what it takes as JSON.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Boolean(_) => 5,
            Self::Number(_) => 24,
            Self::Text(text) => text.len() + 2,
            Self::List(items) => items.iter().map(|item| item.len() + 3).sum::<usize>() + 2,
        }
    }
}

/// Returns whether the number is whole and exact.
pub(super) fn is_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= LARGEST_INTEGER
}

/// Writes a number, without a fraction if it is an integer.
pub(super) fn write_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if is_integer(*number) {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// Values by key. What is absent has its default.
pub type Values = BTreeMap<SettingKey, Value>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_finite_and_never_negative_zero() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Value::number(number), None);
        }
        let Some(Value::Number(zero)) = Value::number(-0.0) else { panic!("zero is a number") };
        assert!(zero.is_sign_positive());
    }
}
