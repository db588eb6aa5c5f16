//! A cache of token hashes, per thread.
//!
//! A dashboard sends the same token many times, and a bot the same management key. On a processor without SHA
//! instructions hashing it costs more than finding its session. So each thread caches the hashes of recent tokens by a
//! fingerprint: SipHash-2-4 of 128 bits under a secret key. Without the key, neither a token with the same fingerprint
//! can be found, nor a token from its fingerprint. The cache holds only the hash of a text, which never changes;
//! whether the session or the key is valid is checked every time.

use super::token::TokenHash;
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::{cell::RefCell, hash::Hasher as _};

/// Number of sets per thread.
const SETS: usize = 4096;
/// Number of hashes per set, at 48 bytes each. One in sixteen of 10,000 tokens does not fit into its set. With 16,384 sets
/// of one hash it would be one in four.
const WAYS: usize = 4;

thread_local! {
    /// Set-associative: a fingerprint is in one set, whose oldest entry it replaces.
    static KNOWN: RefCell<Vec<[Known; WAYS]>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
struct Known {
    fingerprint: u128,
    hash: TokenHash,
}

/// Caches hashes of tokens.
#[derive(Clone)]
pub struct KnownTokens(SipHasher24);

impl KnownTokens {
    /// Creates a cache whose fingerprints use this key.
    #[must_use]
    pub fn new(key: &[u8; 16]) -> Self {
        Self(SipHasher24::new_with_key(key))
    }

    /// Returns the hash of a token.
    #[must_use]
    pub fn hash(&self, token: &[u8]) -> TokenHash {
        let fingerprint = self.fingerprint(token);
        KNOWN.with_borrow_mut(|known| {
            if known.is_empty() {
                let unused = Known { fingerprint: 0, hash: TokenHash::from_bytes([0; 32]) };
                known.resize(SETS, [unused; WAYS]);
            }
            let place = usize::try_from(fingerprint % SETS as u128).unwrap_or_default();
            let Some(set) = known.get_mut(place) else { return TokenHash::of(token) };
            if let Some(found) = set.iter().find(|known| known.fingerprint == fingerprint) {
                return found.hash;
            }
            let hash = TokenHash::of(token);
            set.rotate_right(1);
            set[0] = Known { fingerprint, hash };
            hash
        })
    }

    fn fingerprint(&self, token: &[u8]) -> u128 {
        let mut hasher = self.0;
        hasher.write(token);
        hasher.finish128().as_u128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_hashes_equal_computed_ones() {
        let known = KnownTokens::new(&[7; 16]);
        // More tokens than fit, so that most are replaced in between.
        let hashed = |token: String| (TokenHash::of(token.as_bytes()), token);
        let tokens: Vec<_> = (0..SETS * WAYS * 3 / 2).map(|number| hashed(format!("cmp_{number}"))).collect();
        for _ in 0..2 {
            for (hash, token) in &tokens {
                assert_eq!(known.hash(token.as_bytes()), *hash);
                assert_eq!(known.hash(token.as_bytes()), *hash);
            }
        }
    }

    #[test]
    fn most_of_ten_thousand_tokens_stay_known() {
        let known = KnownTokens::new(&[7; 16]);
        for number in 0..10_000 {
            let _ = known.hash(format!("cmp_{number}").as_bytes());
        }
        let kept =
            KNOWN.with_borrow(|known| known.as_flattened().iter().filter(|one| one.fingerprint != 0).count());
        assert!(kept > 9_250, "{kept}");
    }

    #[test]
    fn fingerprints_depend_on_every_character_and_on_the_key() {
        let (one, other) = (KnownTokens::new(&[7; 16]), KnownTokens::new(&[8; 16]));
        assert_eq!(one.fingerprint(b"cmp_a"), one.fingerprint(b"cmp_a"));
        assert_ne!(one.fingerprint(b"cmp_a"), other.fingerprint(b"cmp_a"));
        for text in [b"cmp_b".as_slice(), b"cmp_", b"cmp_a\0", b"Cmp_a", b""] {
            assert_ne!(one.fingerprint(b"cmp_a"), one.fingerprint(text), "{text:?}");
        }
    }
}
