//! Where browsers see a site of ours.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted, text_like},
};
use companion_http::Origin;
use serde_json::Value;
use std::net::IpAddr;

/// The address of a whole site: https, or http on this machine, where nobody listens in.
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
}
