//! Where the platform sends users back to.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted},
};
use companion_domain::model::WebUrl;
use companion_http::Origin;
use serde_json::{Value, json};

/// One URL, or one for each origin and one for requests without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUri {
    /// For requests without an origin, and for all where no other is given.
    pub default: WebUrl,
    /// For requests from these origins.
    pub by_origin: Vec<(Origin, WebUrl)>,
}

/// The entry of the table for requests without an origin.
const DEFAULT: &str = "default";

impl RedirectUri {
    fn from_table(entries: &[(String, Raw)]) -> Result<Self, Refusal> {
        let url = |name: &str, raw: &Raw| {
            WebUrl::read(raw).map_err(|refusal| Refusal::new(format!("entry \"{name}\" {refusal}")))
        };
        let mut default = None;
        let mut by_origin = Vec::new();
        for (name, raw) in entries {
            if name == DEFAULT {
                default = Some(url(name, raw)?);
                continue;
            }
            let origin = name.parse().map_err(|_| {
                Refusal::new(format!("has the entry \"{name}\", which is neither an origin nor `default`"))
            })?;
            by_origin.push((origin, url(name, raw)?));
        }
        let default = default
            .ok_or_else(|| Refusal::new("lacks the entry `default`, for requests without an origin"))?;
        Ok(Self { default, by_origin })
    }
}

impl Setting for RedirectUri {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let is_table = match raw {
            Raw::Table(_) => true,
            Raw::Word(word) => word.trim_start().starts_with('{'),
            Raw::Text(_) | Raw::Integer(_) | Raw::Boolean(_) | Raw::List(_) | Raw::Foreign => false,
        };
        if is_table {
            let entries = raw.table().ok_or_else(|| Refusal::must_be("an inline table of TOML, or JSON"))?;
            return Self::from_table(&entries);
        }
        let default = WebUrl::read(raw).map_err(|_| {
            Refusal::must_be("an absolute http or https URL, or a table from origin to URL with a `default`")
        })?;
        Ok(Self { default, by_origin: Vec::new() })
    }

    fn schema() -> Value {
        json!({"anyOf": [
            WebUrl::schema(),
            {"type": "object", "required": [DEFAULT], "additionalProperties": WebUrl::schema()},
        ]})
    }

    fn show(&self) -> String {
        if self.by_origin.is_empty() {
            return quoted(&self.default);
        }
        let entry = |(origin, url): &(Origin, WebUrl)| format!(", {} = {}", quoted(origin), quoted(url));
        let others: String = self.by_origin.iter().map(entry).collect();
        format!("{{ {DEFAULT} = {}{others} }}", quoted(&self.default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &Raw) -> Result<RedirectUri, String> {
        RedirectUri::read(raw).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn one_url_serves_everyone() {
        let one = read(&Raw::Word("https://a.example/back".into())).unwrap();
        assert_eq!(one.default.as_str(), "https://a.example/back");
        assert_eq!(one.show(), "\"https://a.example/back\"");
    }

    #[test]
    fn a_table_has_one_for_each_origin() {
        let toml =
            r#"{ default = "https://a.example/back", "https://b.example" = "https://b.example/back" }"#;
        for raw in [Raw::from_toml(toml).unwrap(), Raw::Word(toml.to_owned())] {
            let table = read(&raw).unwrap();
            assert_eq!(table.by_origin.len(), 1);
            assert_eq!(table.show(), toml);
        }
    }

    #[test]
    fn a_wrong_table_is_told_what_is_wrong() {
        for (toml, said) in [
            (r#"{ "https://b.example" = "https://b.example/back" }"#, "lacks the entry `default`"),
            (r#"{ default = "x" }"#, "entry \"default\" must be an absolute"),
            (
                r#"{ default = "https://a.example", b = "https://b.example" }"#,
                "neither an origin nor `default`",
            ),
            ("\"nowhere\"", "must be an absolute http or https URL, or a table"),
        ] {
            let refusal = read(&Raw::from_toml(toml).unwrap()).unwrap_err();
            assert!(refusal.contains(said), "{toml}: {refusal}");
        }
    }
}
