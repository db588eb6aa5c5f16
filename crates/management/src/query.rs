//! Strict parsing of query strings: a typo in a parameter could remove the wrong records.

use crate::request::{invalid_value, value};
use companion_domain::model::Invalid;
use companion_http::ApiError;
use std::{collections::BTreeMap, str::FromStr};

/// Query parameters, each known and sent once.
pub(crate) struct Query(BTreeMap<&'static str, String>);

impl Query {
    /// Parses a query string. Returns an error for unknown or repeated parameters.
    pub(crate) fn read(query: &str, known: &[&'static str]) -> Result<Self, ApiError> {
        let mut parameters = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let Some(name) = known.iter().find(|known| **known == name) else {
                let known = known.join(", ");
                return Err(invalid_value(&name, &format!("is not known here; known are {known}")));
            };
            if parameters.insert(*name, value.into_owned()).is_some() {
                return Err(invalid_value(name, "must be sent once"));
            }
        }
        Ok(Self(parameters))
    }

    /// Returns a parameter as sent.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Parses a required parameter.
    pub(crate) fn required<T: FromStr<Err = Invalid>>(&self, name: &'static str) -> Result<T, ApiError> {
        let text = self.text(name).ok_or_else(|| invalid_value(name, "is missing"))?;
        value(name, text)
    }
}
