//! Cookies, and signatures over values that browsers keep for us, so that nodes need no shared state.

use actix_web::http::header::{COOKIE, HeaderMap, HeaderValue};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use companion_domain::model::SecretKey;
use companion_http::{ApiError, Origin};
use std::time::Duration;
use subtle::ConstantTimeEq as _;

/// A cookie for the whole site that scripts cannot read.
#[derive(Debug, Clone)]
pub(crate) struct Cookie {
    name: String,
    is_secure: bool,
}

impl Cookie {
    /// Creates a cookie for a site with this address. With https it is bound to the host by the `__Host-` prefix, which
    /// browsers enforce; without, the site is on loopback.
    pub(crate) fn new(name: &str, site: &Origin) -> Self {
        let is_secure = site.as_str().starts_with("https:");
        Self { name: format!("{}{name}", if is_secure { "__Host-" } else { "" }), is_secure }
    }

    /// Returns the value in these request headers.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let sent = headers.get_all(COOKIE).filter_map(|value| value.to_str().ok());
        let mut pairs =
            sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// Returns a `Set-Cookie` header with this lifetime.
    pub(crate) fn set(&self, value: &str, lifetime: Duration) -> Result<HeaderValue, ApiError> {
        let Self { name, is_secure } = self;
        let secure = if *is_secure { "; Secure" } else { "" };
        let seconds = lifetime.as_secs();
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::try_from(text).map_err(|error| ApiError::Internal(error.into()))
    }

    /// Returns a `Set-Cookie` header that removes the cookie.
    pub(crate) fn clear(&self) -> Result<HeaderValue, ApiError> {
        self.set("", Duration::ZERO)
    }
}

const PURPOSE: &str = "companion dashboard, version 1";

/// Signing keys. The first signs and any verifies, so that keys can be rotated while users are signing in.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    first: SigningKey,
    older: Vec<SigningKey>,
}

impl SigningKeys {
    /// Derives signing keys from the current secret and its predecessors.
    #[must_use]
    pub fn new(first: &SecretKey, older: &[SecretKey]) -> Self {
        let derived = |key: &SecretKey| SigningKey(SecretKey::new(*key.derive(PURPOSE)));
        Self { first: derived(first), older: older.iter().map(derived).collect() }
    }

    /// Returns the key that signs.
    pub(crate) const fn first(&self) -> &SigningKey {
        &self.first
    }

    /// Returns the key that made this signature for this purpose.
    pub(crate) fn signer(&self, purpose: &str, text: &str, signature: &str) -> Option<&SigningKey> {
        let mut keys = std::iter::once(&self.first).chain(&self.older);
        keys.find(|key| bool::from(key.sign(purpose, text).as_bytes().ct_eq(signature.as_bytes())))
    }
}

/// One signing key.
#[derive(Debug, Clone)]
pub(crate) struct SigningKey(SecretKey);

impl SigningKey {
    /// Signs a text for a purpose. Returns 43 URL-safe characters.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        // No purpose contains a colon, so distinct pairs of purpose and text yield distinct inputs.
        URL_SAFE_NO_PAD.encode(*self.0.derive(&format!("{purpose}:{text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(site: &str) -> Cookie {
        Cookie::new("companion", &site.parse().unwrap())
    }

    #[test]
    fn https_cookies_are_bound_to_their_host() {
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
    fn finds_a_cookie_among_others() {
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

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; 32])
    }

    #[test]
    fn verifies_signatures_of_any_key_in_the_ring() {
        let old = SigningKeys::new(&key(1), &[]);
        let signature = old.first().sign("form", "text");
        assert_eq!(signature.len(), 43);
        let both = SigningKeys::new(&key(2), &[key(1)]);
        assert!(both.signer("form", "text", &signature).is_some());
        assert!(both.signer("form", "other", &signature).is_none());
        assert!(both.signer("other", "text", &signature).is_none());
        assert!(both.signer("form", "text", "").is_none());
        assert!(SigningKeys::new(&key(2), &[]).signer("form", "text", &signature).is_none());
    }
}
