//! Addresses: listen addresses, proxy ranges, origins and URLs.

use super::{
    error::ValueError,
    setting::{Setting, entries, text},
};
use companion_domain::model::WebUrl;
use companion_http::Origin;
use ipnet::IpNet;
use serde_json::json;
use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, TcpListener},
    str::FromStr,
};
use toml::Value;
use url::Url;

/// A host and a port: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// The host as given; IPv6 in brackets.
    pub host: String,
    /// The port; 0 selects a free one.
    pub port: u16,
}

impl ListenAddress {
    /// Whether the address is reachable from this machine only.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Returns the address on which a local client reaches the service: a wildcard address becomes the loopback
    /// address.
    #[must_use]
    pub fn reachable(&self) -> Self {
        let host = match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "[::]" => "[::1]",
            host => host,
        };
        Self { host: host.to_owned(), port: self.port }
    }

    /// Binds a listener.
    pub fn bind(&self) -> io::Result<TcpListener> {
        TcpListener::bind(self.to_string())
    }
}

impl FromStr for ListenAddress {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error =
            || ValueError::must_be("a host and a port, like 127.0.0.1:8080, [::1]:8080 or localhost:8080");
        let (host, port) = text.rsplit_once(':').ok_or_else(error)?;
        let name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let named = !host.is_empty() && host.chars().all(name);
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits && (named || text.parse::<SocketAddr>().is_ok()));
        port.map(|port| Self { host: host.to_owned(), port }).ok_or_else(error)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// An IP address or a CIDR range: `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange(IpNet);

impl AddressRange {
    /// Whether the address is in the range.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

impl FromStr for AddressRange {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let range = text.parse().or_else(|_| text.parse().map(|address: IpAddr| address.into()));
        let range: IpNet =
            range.map_err(|_| ValueError::must_be("an address or a range, like 10.0.0.1 or 10.0.0.0/8"))?;
        if range != range.trunc() {
            return Err(ValueError::new("has bits set behind its prefix; the range would begin elsewhere"));
        }
        Ok(Self(range))
    }
}

/// The origin of a website: https, or http on loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteUrl(pub Origin);

impl SiteUrl {
    /// Returns the redirect URI of a dashboard at this origin.
    #[must_use]
    pub fn callback(&self) -> String {
        format!("{}/callback", self.0)
    }
}

impl Setting for SiteUrl {
    const PATTERN: &str = "^[hH][tT][tT][pP][sS]?://.";

    fn read(value: &Value) -> Result<Self, ValueError> {
        let refused = || {
            ValueError::must_be(
                "the https address of a site, without a path, like https://dashboard.example; http is for loopback only",
            )
        };
        let text = text(value)?;
        // Browsers show an origin with a final slash.
        let origin: Origin = text.strip_suffix('/').unwrap_or(text).parse().map_err(|_| refused())?;
        let url = Url::parse(origin.as_str()).map_err(|_| refused())?;
        let safe = url.scheme() == "https" || url.host_str().is_some_and(is_loopback);
        if safe { Ok(Self(origin)) } else { Err(refused()) }
    }
}

/// Whether a host, with IPv6 in brackets, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// One redirect URI, or one per origin with a default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUri {
    /// For requests without an `Origin` header, and for all requests if no other is given.
    pub default: WebUrl,
    /// For requests from these origins.
    pub by_origin: Vec<(Origin, WebUrl)>,
}

/// The table entry for requests without an `Origin` header.
const DEFAULT: &str = "default";

impl Setting for RedirectUri {
    fn read(value: &Value) -> Result<Self, ValueError> {
        if !value.is_table() {
            let default = WebUrl::read(value).map_err(|_| {
                ValueError::must_be(
                    "an absolute http or https URL, or a table from origin to URL with a `default`",
                )
            })?;
            return Ok(Self { default, by_origin: Vec::new() });
        }
        let (mut default, mut by_origin) = (None, Vec::new());
        let urls = entries(value, "an inline table of TOML, or JSON", |name, value| {
            let origin = Some(name).filter(|name| *name != DEFAULT).map(str::parse).transpose();
            let origin = origin.map_err(|_| ValueError::must_be("named by an origin or `default`"))?;
            Ok((origin, WebUrl::read(value)?))
        })?;
        for (origin, url) in urls {
            match origin {
                Some(origin) => by_origin.push((origin, url)),
                None => default = Some(url),
            }
        }
        let default = default
            .ok_or_else(|| ValueError::new("lacks the entry `default`, for requests without an origin"))?;
        Ok(Self { default, by_origin })
    }

    fn schema() -> serde_json::Value {
        json!({"anyOf": [
            WebUrl::schema(),
            {"type": "object", "required": [DEFAULT], "additionalProperties": WebUrl::schema()},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_address_is_a_host_and_a_port() {
        for text in ["127.0.0.1:8080", "[::1]:8080", "localhost:0", "0.0.0.0:65535", "my-host.example:80"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        for text in
            ["", "8080", ":8080", "localhost", "127.0.0.1:", "127.0.0.1:65536", "::1:8080", "a b:1", "h:+1"]
        {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    fn range(text: &str) -> AddressRange {
        text.parse().unwrap()
    }

    #[test]
    fn a_range_contains_addresses_with_its_prefix() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("fd00::/8", "fd12::1", "fc00::1"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
        ] {
            assert!(range(text).has(inside.parse().unwrap()), "{text} {inside}");
            assert!(!range(text).has(outside.parse().unwrap()), "{text} {outside}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "proxy.example", "::1/129", "10.0.0.1/8"] {
            assert!(text.parse::<AddressRange>().is_err(), "{text}");
        }
    }

    fn read(text: &str) -> Result<SiteUrl, ValueError> {
        SiteUrl::read(&text.into())
    }

    #[test]
    fn a_site_url_is_https_or_on_loopback() {
        for text in [
            "https://dashboard.example",
            "https://dashboard.example:8443/",
            "http://127.0.0.1:8082",
            "http://[::1]:8082",
            "http://[::1]",
            "http://localhost",
        ] {
            assert_eq!(read(text).unwrap().0.as_str(), text.trim_end_matches('/'));
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

    fn redirect(toml: &str) -> Result<RedirectUri, String> {
        RedirectUri::read(&toml.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn reads_one_redirect_uri_or_a_table_by_origin() {
        let one = redirect("'https://a.example/back'").unwrap();
        assert_eq!((one.default.as_str(), one.by_origin.len()), ("https://a.example/back", 0));
        let table = "{ default = 'https://a.example/back', 'https://b.example' = 'https://b.example/back' }";
        assert_eq!(redirect(table).unwrap().by_origin.len(), 1);
    }

    #[test]
    fn reports_what_is_wrong_with_a_redirect_table() {
        for (toml, said) in [
            (r#"{ "https://b.example" = "https://b.example/back" }"#, "lacks the entry `default`"),
            (r#"{ default = "x" }"#, "entry \"default\" must be an absolute"),
            (
                r#"{ default = "https://a.example", b = "https://b.example" }"#,
                "entry \"b\" must be named by an origin or `default`",
            ),
            ("\"nowhere\"", "must be an absolute http or https URL, or a table"),
        ] {
            let error = redirect(toml).unwrap_err();
            assert!(error.contains(said), "{toml}: {error}");
        }
    }
}
