//! Cookies: how they are named, set, read and taken back.

use actix_web::http::header::{COOKIE, HeaderMap, HeaderValue};
use companion_http::{ApiError, Origin};
use std::time::Duration;

/// A cookie of this site, for its whole site, that no script can read.
#[derive(Debug, Clone)]
pub(crate) struct Cookie {
    name: String,
    secure: bool,
}

impl Cookie {
    /// The cookie of this name at a site with this address. With https it is for this very host, by a prefix that browsers
    /// enforce; without, the site is on loopback.
    pub(crate) fn new(name: &str, site: &Origin) -> Self {
        let secure = site.as_str().starts_with("https:");
        Self { name: format!("{}{name}", if secure { "__Host-" } else { "" }), secure }
    }

    /// What was sent of it.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let sent = headers.get_all(COOKIE).filter_map(|value| value.to_str().ok());
        let mut pairs =
            sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// Sets it for so long.
    pub(crate) fn set(&self, value: &str, lifetime: Duration) -> Result<HeaderValue, ApiError> {
        let Self { name, secure } = self;
        let secure = if *secure { "; Secure" } else { "" };
        let seconds = lifetime.as_secs();
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).map_err(|error| ApiError::Internal(error.into()))
    }

    /// Takes it back.
    pub(crate) fn clear(&self) -> Result<HeaderValue, ApiError> {
        self.set("", Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(site: &str) -> Cookie {
        Cookie::new("companion", &site.parse().unwrap())
    }

    #[test]
    fn a_cookie_of_an_https_site_is_bound_to_its_host() {
        let set = |site| cookie(site).set("x", Duration::from_secs(60)).unwrap();
        assert_eq!(
            set("https://dashboard.example"),
            "__Host-companion=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(set("http://127.0.0.1:8082"), "companion=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert_eq!(
            cookie("http://localhost").clear().unwrap(),
            "companion=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_static(value));
            cookie("http://localhost").read(&headers).map(str::to_owned)
        };
        assert_eq!(read("a=b; companion=c; xcompanion=d").as_deref(), Some("c"));
        assert_eq!(read("companion=a=b").as_deref(), Some("a=b"));
        for without in ["", "a=b", "companion=", "Companion=x", "__Host-companion=x"] {
            assert_eq!(read(without), None, "{without}");
        }
    }
}
