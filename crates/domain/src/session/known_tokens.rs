//! A cache of token hashes, per thread.
//!
//! A dashboard sends the same token many times. On a processor without SHA instructions hashing it costs more than
//! finding its session. So each thread caches the hashes of recent tokens by a fingerprint: SipHash-2-4 of 128 bits
//! under a secret key. Without the key, neither a token with the same fingerprint can be found, nor a token from its
//! fingerprint. The cache holds only the hash of a text, which never changes; whether the session is valid is checked
//! every time.

use super::token::TokenHash;
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::{cell::RefCell, hash::Hasher as _};

/// Number of cached hashes per thread, at 48 bytes each.
const SLOTS: usize = 16_384;

thread_local! {
    /// Direct-mapped: a fingerprint has one slot, whose previous entry it replaces.
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
struct Known {
    fingerprint: u128,
    hash: TokenHash,
}

/// Caches hashes of tokens.
#[derive(Clone)]
pub(super) struct KnownTokens(SipHasher24);

impl KnownTokens {
    /// Creates a cache whose fingerprints use this key.
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self(SipHasher24::new_with_key(key))
    }

    /// Returns the hash of a token.
    pub(super) fn hash(&self, token: &str) -> TokenHash {
        let fingerprint = self.fingerprint(token);
        KNOWN.with_borrow_mut(|known| {
            if known.is_empty() {
                known.resize(SLOTS, Known { fingerprint: 0, hash: TokenHash::from_bytes([0; 32]) });
            }
            let place = usize::try_from(fingerprint % SLOTS as u128).unwrap_or_default();
            match known.get_mut(place) {
                Some(found) if found.fingerprint == fingerprint => found.hash,
                other => {
                    let hash = TokenHash::of(token);
                    if let Some(replaced) = other {
                        *replaced = Known { fingerprint, hash };
                    }
                    hash
                }
            }
        })
    }

    fn fingerprint(&self, token: &str) -> u128 {
        let mut hasher = self.0;
        hasher.write(token.as_bytes());
        hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_hashes_equal_computed_ones() {
        let known = KnownTokens::new(&[7; 16]);
        // More tokens than slots, so that most are replaced in between.
        let hashed = |token: String| (TokenHash::of(&token), token);
        let tokens: Vec<_> = (0..SLOTS + SLOTS / 2).map(|number| hashed(format!("cmp_{number}"))).collect();
        for _ in 0..2 {
            for (hash, token) in &tokens {
                assert_eq!(known.hash(token), *hash);
                assert_eq!(known.hash(token), *hash);
            }
        }
    }

    #[test]
    fn fingerprints_depend_on_every_character_and_on_the_key() {
        let (one, other) = (KnownTokens::new(&[7; 16]), KnownTokens::new(&[8; 16]));
        assert_eq!(one.fingerprint("cmp_a"), one.fingerprint("cmp_a"));
        assert_ne!(one.fingerprint("cmp_a"), other.fingerprint("cmp_a"));
        for text in ["cmp_b", "cmp_", "cmp_a\0", "Cmp_a", ""] {
            assert_ne!(one.fingerprint("cmp_a"), one.fingerprint(text), "{text:?}");
        }
    }
}
