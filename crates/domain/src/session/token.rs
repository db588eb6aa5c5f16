//! Session tokens: `cmp_` and the base64url of 32 random bytes and a 16-byte keyed tag.
//!
//! With the tag a forged token is rejected without a lookup. The token is shown once, to its owner; only its SHA-256
//! is stored.

use super::known_tokens::KnownTokens;
use crate::{
    model::{Invalid, KeyedDigest, Secret, SecretKey},
    named::parsed,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::{Choice, ConstantTimeEq as _};
use zeroize::Zeroizing;

const PREFIX: &str = "cmp_";
const RANDOM_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const TOKEN_BYTES: usize = RANDOM_BYTES + TAG_BYTES;
const TAG_PURPOSE: &str = "companion session token, version 1";
const FINGERPRINT_PURPOSE: &str = "companion fingerprints of session tokens, version 1";
const REJECTED: Invalid = Invalid::new("token", "one that this service has given out");

/// A token issued by this service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToken(Secret);

impl SessionToken {
    /// Returns the token. Only for its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Returns the hash under which the session is stored.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose().as_bytes())
    }
}

/// The keys of the tags. The first signs, any verifies, so that keys can be rotated without signing users out.
#[derive(Clone)]
pub struct TokenRing {
    signing: KeyedDigest,
    verifying: Vec<KeyedDigest>,
    known: KnownTokens,
}

impl TokenRing {
    /// Creates a ring of the current key and older ones.
    #[must_use]
    pub fn new(first: &SecretKey, older: &[SecretKey]) -> Self {
        let keyed = |key: &SecretKey| KeyedDigest::new(&key.derive(TAG_PURPOSE));
        let verifying = std::iter::once(first).chain(older).map(keyed).collect();
        let fingerprints = first.derive(FINGERPRINT_PURPOSE);
        let known = KnownTokens::new(fingerprints.first_chunk().unwrap_or(&[0; 16]));
        Self { signing: keyed(first), verifying, known }
    }

    /// Issues a token from unpredictable random bytes.
    #[must_use]
    pub fn issue(&self, random: &[u8; RANDOM_BYTES]) -> SessionToken {
        let mut bytes = Zeroizing::new(random.to_vec());
        bytes.extend_from_slice(&tag(&self.signing, random));
        SessionToken(Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(&*bytes))))
    }

    /// Returns the hash under which a session with this token would be stored. Does not verify the token.
    #[must_use]
    pub fn hash(&self, text: &str) -> TokenHash {
        self.known.hash(text.as_bytes())
    }

    /// Verifies a token and returns its hash. Rejects what no key of the ring has signed. Whether its session is
    /// valid is decided by the store.
    pub fn verify(&self, text: &str) -> Result<TokenHash, Invalid> {
        let encoded = text.strip_prefix(PREFIX).ok_or(REJECTED)?;
        let mut bytes = Zeroizing::new([0; TOKEN_BYTES]);
        let length = URL_SAFE_NO_PAD.decode_slice(encoded, &mut *bytes).map_err(|_| REJECTED)?;
        let (random, sent) =
            bytes.get(..length).and_then(|bytes| bytes.split_at_checked(RANDOM_BYTES)).ok_or(REJECTED)?;
        // Every key is tried and every byte compared, so the timing reveals nothing about the tag.
        let matches = self.verifying.iter().map(|key| tag(key, random).ct_eq(sent));
        let genuine = matches.fold(Choice::from(0), |one, other| one | other);
        if genuine.into() { Ok(TokenHash::of(text.as_bytes())) } else { Err(REJECTED) }
    }
}

impl fmt::Debug for TokenRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRing({} keys)", self.verifying.len())
    }
}

fn tag(key: &KeyedDigest, random: &[u8]) -> [u8; TAG_BYTES] {
    key.of(random).first_chunk().copied().unwrap_or_default()
}

/// The SHA-256 of a token: the id of its session. Safe to store, list and log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Creates a hash from its stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash, to be stored in place of the token.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first eight hexadecimal digits, enough to follow a session through a log.
    #[must_use]
    pub fn short(&self) -> String {
        self.0.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

parsed!(TokenHash, "session id", "64 hexadecimal digits", |text| {
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(Self(bytes))
});

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({}…)", self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; 32])
    }

    #[test]
    fn tokens_have_the_documented_format_and_verify() {
        let ring = TokenRing::new(&key(1), &[]);
        let token = ring.issue(&[9; 32]);
        let bytes = URL_SAFE_NO_PAD.decode(token.expose().strip_prefix("cmp_").unwrap()).unwrap();
        assert_eq!(token.expose().len(), 4 + 64);
        assert_eq!(bytes.len(), 48);
        assert_eq!(bytes[..32], [9; 32]);
        assert_eq!(ring.verify(token.expose()), Ok(token.hash()));
    }

    #[test]
    fn the_tag_is_the_first_half_of_an_hmac_under_a_derived_key() {
        let token = TokenRing::new(&key(1), &[]).issue(&[9; 32]);
        let bytes = URL_SAFE_NO_PAD.decode(&token.expose()[4..]).unwrap();
        let derived = KeyedDigest::new(&[1; 32]).of(TAG_PURPOSE.as_bytes());
        assert_eq!(bytes[32..], KeyedDigest::new(&derived).of(&[9; 32])[..16]);
    }

    #[test]
    fn hmac_matches_rfc_4231() {
        // RFC 4231, test case 2, with its key padded to 32 bytes: HMAC pads keys with zeros.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let digest = KeyedDigest::new(&key).of(b"what do ya want for nothing?");
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(TokenHash::from_bytes(digest).to_string(), expected);
    }

    #[test]
    fn any_key_verifies_and_the_first_signs() {
        let old = TokenRing::new(&key(1), &[]).issue(&[1; 32]);
        let ring = TokenRing::new(&key(2), &[key(1)]);
        let new = ring.issue(&[1; 32]);
        assert!(ring.verify(old.expose()).is_ok());
        assert!(ring.verify(new.expose()).is_ok());
        assert_ne!(old, new);
        let twice = TokenRing::new(&key(2), &[key(1), key(1)]);
        assert!(twice.verify(old.expose()).is_ok(), "duplicate keys are harmless");
        assert_eq!(TokenRing::new(&key(2), &[]).issue(&[1; 32]), new);
        assert_eq!(TokenRing::new(&key(2), &[]).verify(old.expose()), Err(REJECTED));
    }

    #[test]
    fn rejects_altered_tokens() {
        let ring = TokenRing::new(&key(1), &[]);
        let token = ring.issue(&[200; 32]);
        let text = token.expose();
        let bytes = URL_SAFE_NO_PAD.decode(&text[4..]).unwrap();
        let encode = |bytes: &[u8]| format!("cmp_{}", URL_SAFE_NO_PAD.encode(bytes));
        // Flips of two bits that a comparison of sums would miss.
        let mut flipped = bytes.clone();
        flipped[40] ^= 1;
        flipped[41] ^= 1;
        let replaced = (0..text.len()).map(|index| {
            let other = if text[index..].starts_with('A') { "B" } else { "A" };
            [&text[..index], other, &text[index + 1..]].concat()
        });
        let shortened = (0..bytes.len()).map(|length| encode(&bytes[..length]));
        let lengthened = [encode(&[bytes.as_slice(), &[0]].concat()), format!("{text}=")];
        let others = [encode(&flipped), text[4..].to_owned(), String::new()];
        for altered in replaced.chain(shortened).chain(lengthened).chain(others) {
            assert_eq!(ring.verify(&altered), Err(REJECTED), "{altered}");
        }
    }

    #[test]
    fn the_hash_is_the_sha_256_of_the_whole_token() {
        let token = TokenRing::new(&key(1), &[]).issue(&[9; 32]);
        let hash = token.hash();
        let again: [u8; 32] = Sha256::digest(token.expose().as_bytes()).into();
        assert_eq!(hash.as_bytes(), &again);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string()[..8], hash.short());
        assert_eq!(format!("{hash:?}"), format!("TokenHash({}…)", hash.short()));
    }

    #[test]
    fn rejects_ids_other_than_64_hexadecimal_digits() {
        for text in ["", "ab", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<TokenHash>().unwrap_err().field, "session id", "{text}");
        }
    }

    #[test]
    fn debug_output_redacts_tokens_and_keys() {
        let ring = TokenRing::new(&key(1), &[key(2)]);
        let token = ring.issue(&[9; 32]);
        assert_eq!(format!("{ring:?}"), "TokenRing(2 keys)");
        assert_eq!(format!("{token:?}"), "SessionToken(Secret(…))");
    }

    proptest! {
        #[test]
        fn rejects_forged_tokens(text in "\\PC{0,80}") {
            prop_assert!(TokenRing::new(&key(1), &[]).verify(&text).is_err());
        }
    }
}
