//! Web origins and their OAuth redirect URLs.

use crate::error::ApiError;
use companion_domain::model::{Invalid, WebUrl};
use std::{collections::HashMap, fmt, str::FromStr};

/// A web origin, spelled exactly as browsers send it: `https://dashboard.example`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(Box<str>);

impl Origin {
    /// The origin as browsers send it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Origins are compared byte by byte, so one that no browser sends is a configuration error.
        let spelled = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        match spelled.map(|url| url.origin().ascii_serialization()) {
            Some(canonical) if canonical == text => Ok(Self(text.into())),
            Some(_) | None => Err(Invalid::new(
                "origin",
                "scheme://host or scheme://host:port as browsers send it: http or https, in lower case, without \
                 default port, path or trailing slash",
            )),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The configured redirect URLs. Nothing that a caller sends becomes part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirects {
    /// Sign-in is not configured.
    NotConfigured,
    /// One URL for all origins.
    One(WebUrl),
    /// One URL per origin.
    ByOrigin {
        /// The URL of each origin.
        table: HashMap<Origin, WebUrl>,
        /// The URL for requests without an `Origin` header, such as those of backends.
        default: Option<WebUrl>,
    },
}

impl Redirects {
    /// Returns the redirect URL for this origin. Without a configured one, the platform would refuse the exchange anyway.
    pub(crate) fn for_origin(&self, origin: Option<&Origin>) -> Result<&WebUrl, ApiError> {
        let configured = match (self, origin) {
            (Self::NotConfigured, _) => return Err(ApiError::SignInNotConfigured),
            (Self::One(address), _) => Some(address),
            (Self::ByOrigin { table, .. }, Some(origin)) => table.get(origin),
            (Self::ByOrigin { default, .. }, None) => default.as_ref(),
        };
        configured.ok_or(ApiError::OriginRefused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_origins_only_as_browsers_send_them() {
        for good in [
            "https://a.example",
            "http://localhost:3000",
            "https://xn--bcher-kva.example",
            "http://[::1]:80800",
        ] {
            assert_eq!(good.parse::<Origin>().is_ok(), !good.ends_with("80800"), "{good}");
        }
        for bad in [
            "",
            "null",
            "*",
            "a.example",
            "https://a.example/",
            "https://a.example/path",
            "https://A.example",
            "HTTPS://a.example",
            "https://a.example:443",
            "http://a.example:80",
            "https://user@a.example",
            "https://bücher.example",
            "ftp://a.example",
            "file:///tmp",
            " https://a.example",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}
