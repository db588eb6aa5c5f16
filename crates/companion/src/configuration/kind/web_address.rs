//! Settings that are addresses on the web.

use crate::configuration::{
    mistake::Refusal,
    raw::Raw,
    setting::{Setting, quoted, text_like},
};
use companion_domain::model::WebUrl;
use companion_http::Origin;
use serde_json::{Value, json};
use std::net::IpAddr;

impl Setting for Origin {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        Ok(raw.text()?.parse::<Self>()?)
    }

    fn schema() -> Value {
        text_like("^https?://[^/]+$")
    }

    fn show(&self) -> String {
        quoted(self)
    }
}

/// The origin of a site: https, or http on loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl(pub Origin);

impl SiteUrl {
    /// The redirect URI of a dashboard there.
    #[must_use]
    pub fn callback(&self) -> String {
        format!("{}/callback", self.0)
    }
}

impl Setting for SiteUrl {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let refused = || {
            Refusal::must_be(
                "the https address of a site, without a path, like https://dashboard.example; http is for loopback only",
            )
        };
        let text = raw.text()?;
        // A final slash is how browsers show it.
        let origin: Origin = text.strip_suffix('/').unwrap_or(text).parse().map_err(|_| refused())?;
        let safe = match origin.as_str().split_once("://") {
            Some(("https", _)) => true,
            Some(("http", host)) => is_loopback(host),
            Some(_) | None => false,
        };
        if safe { Ok(Self(origin)) } else { Err(refused()) }
    }

    fn schema() -> Value {
        text_like("^[hH][tT][tT][pP][sS]?://.")
    }

    fn show(&self) -> String {
        quoted(&self.0)
    }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

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

    fn read(text: &str) -> Result<SiteUrl, Refusal> {
        SiteUrl::read(&Raw::Word(text.to_owned()))
    }

    #[test]
    fn a_site_has_https_or_is_on_loopback() {
        for (text, shown) in [
            ("https://dashboard.example", "\"https://dashboard.example\""),
            ("https://dashboard.example:8443/", "\"https://dashboard.example:8443\""),
            ("http://127.0.0.1:8082", "\"http://127.0.0.1:8082\""),
            ("http://[::1]:8082", "\"http://[::1]:8082\""),
            ("http://[::1]", "\"http://[::1]\""),
            ("http://localhost", "\"http://localhost\""),
        ] {
            assert_eq!(read(text).map_err(|refusal| refusal.to_string()).unwrap().show(), shown);
        }
        for text in [
            "",
            "dashboard.example",
            "http://dashboard.example",
            "http://localhost.evil.example",
            "http://10.0.0.1:8082",
            "https://dashboard.example/path",
            "https://dashboard.example/?x",
            "ftp://dashboard.example",
        ] {
            assert!(read(text).unwrap_err().to_string().contains("without a path"), "{text}");
        }
    }

    fn redirect(raw: &Raw) -> Result<RedirectUri, String> {
        RedirectUri::read(raw).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn one_url_serves_everyone() {
        let one = redirect(&Raw::Word("https://a.example/back".into())).unwrap();
        assert_eq!(one.default.as_str(), "https://a.example/back");
        assert_eq!(one.show(), "\"https://a.example/back\"");
    }

    #[test]
    fn a_table_has_one_for_each_origin() {
        let toml =
            r#"{ default = "https://a.example/back", "https://b.example" = "https://b.example/back" }"#;
        for raw in [Raw::from_toml(toml).unwrap(), Raw::Word(toml.to_owned())] {
            let table = redirect(&raw).unwrap();
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
            let refusal = redirect(&Raw::from_toml(toml).unwrap()).unwrap_err();
            assert!(refusal.contains(said), "{toml}: {refusal}");
        }
    }
}
