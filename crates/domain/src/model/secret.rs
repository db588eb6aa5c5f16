//! Text and keys that are never displayed.

use crate::named::parsed;
use base64::Engine as _;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

/// Text that must not appear in logs, errors or debug output. Zeroed when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Returns the text. Only for sending or sealing it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A key of 32 bytes, from which a key is derived for each purpose.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Zeroizing<[u8; 32]>);

impl SecretKey {
    /// Wraps a key.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Derives the key for one purpose, so that no two purposes share a key.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(KeyedDigest::new(&self.0).of(purpose.as_bytes()))
    }
}

parsed!(SecretKey, "key", "the base64 of exactly 32 random bytes", |text| {
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim()).map(Zeroizing::new);
    <[u8; 32]>::try_from(decoded.ok()?.as_slice()).ok().map(Self::new)
});

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// HMAC-SHA-256 under a key. The key schedule, half of the work for a short text, is computed once.
#[derive(Clone)]
pub(crate) struct KeyedDigest(Hmac<Sha256>);

impl KeyedDigest {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        // HMAC pads a short key with zeros to its block size. Padding it here makes the constructor infallible.
        let mut block = Zeroizing::new([0; 64]);
        for (padded, byte) in block.iter_mut().zip(key) {
            *padded = *byte;
        }
        Self(<Hmac<Sha256> as hmac::digest::KeyInit>::new((&*block).into()))
    }

    pub(crate) fn of(&self, text: &[u8]) -> [u8; 32] {
        self.0.clone().chain_update(text).finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_redacts_secrets() {
        let secret = Secret::new("canary".to_owned());
        assert_eq!(secret.expose(), "canary");
        assert_eq!(format!("{secret:?} {:?}", SecretKey::new([7; 32])), "Secret(…) SecretKey(…)");
    }

    #[test]
    fn parses_keys_as_base64_of_32_bytes() {
        let text = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
        assert_eq!(text.parse(), Ok(SecretKey::new([7; 32])));
        assert_eq!(format!(" {text}\n").parse(), Ok(SecretKey::new([7; 32])));
        for text in ["", "BwcH", "not base64!", &text[..40], &format!("BwcH{text}")] {
            assert_eq!(text.parse::<SecretKey>().unwrap_err().field, "key", "{text:?}");
        }
    }

    #[test]
    fn derived_keys_differ_by_purpose_and_by_key() {
        let (one, other) = (SecretKey::new([1; 32]), SecretKey::new([2; 32]));
        assert_eq!(one.derive("a"), one.derive("a"));
        assert_ne!(one.derive("a"), one.derive("b"));
        assert_ne!(one.derive("a"), other.derive("a"));
    }
}
