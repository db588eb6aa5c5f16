//! What only we can have written: signatures over what browsers keep for us, so that no node has to remember anything.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use companion_domain::model::SecretKey;
use subtle::ConstantTimeEq as _;

const PURPOSE: &str = "companion dashboard, version 1";

/// The keys of signatures: the first signs, any verifies, so that keys can be changed while people are signing in.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    first: SigningKey,
    older: Vec<SigningKey>,
}

impl SigningKeys {
    /// The keys of `first` and of those that came before it.
    #[must_use]
    pub fn new(first: &SecretKey, older: &[SecretKey]) -> Self {
        let derived = |key: &SecretKey| SigningKey(SecretKey::new(*key.derive(PURPOSE)));
        Self { first: derived(first), older: older.iter().map(derived).collect() }
    }

    /// The key that signs.
    pub(crate) const fn first(&self) -> &SigningKey {
        &self.first
    }

    /// The key that signed this for this purpose.
    pub(crate) fn signer(&self, purpose: &str, text: &str, signature: &str) -> Option<&SigningKey> {
        let mut keys = std::iter::once(&self.first).chain(&self.older);
        keys.find(|key| bool::from(key.sign(purpose, text).as_bytes().ct_eq(signature.as_bytes())))
    }
}

/// One of the keys.
#[derive(Debug, Clone)]
pub(crate) struct SigningKey(SecretKey);

impl SigningKey {
    /// Signs a text for a purpose, in 43 characters that need no escaping anywhere.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        // No purpose has a colon, so no two pairs of purpose and text are signed as the same.
        URL_SAFE_NO_PAD.encode(*self.0.derive(&format!("{purpose}:{text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; 32])
    }

    #[test]
    fn a_signature_is_good_for_its_text_and_purpose_under_any_key_of_the_ring() {
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
