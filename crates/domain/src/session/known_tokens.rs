//! Tokens that were hashed a moment ago and need not be hashed again.
//!
//! Whoever looks at a dashboard sends the same token many times, and on a processor that has no instruction for it, to hash it
//! costs more than to find its session. So each thread remembers the hashes of the last tokens, by a fingerprint: SipHash-2-4
//! of 128 bits under a key that nobody knows. Without the key no other token with the same fingerprint can be found, and from a
//! fingerprint no token. It remembers nothing but what the hash of a text is, which never changes: whether a session lives is
//! asked every time.

use super::token_hash::TokenHash;
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::{cell::RefCell, hash::Hasher as _};

/// How many a thread remembers, at 48 bytes each.
const SLOTS: usize = 16_384;

thread_local! {
    /// Each has one place, where it replaces whoever was there.
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
struct Known {
    fingerprint: u128,
    hash: TokenHash,
}

/// Knows tokens again.
#[derive(Clone)]
pub(super) struct KnownTokens(SipHasher24);

impl KnownTokens {
    /// Knows them by fingerprints under this key.
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self(SipHasher24::new_with_key(key))
    }

    /// The hash of a token.
    pub(super) fn hash(&self, token: &str) -> TokenHash {
        self.find_or(token, TokenHash::of)
    }

    fn find_or(&self, token: &str, hash: impl FnOnce(&str) -> TokenHash) -> TokenHash {
        let fingerprint = self.fingerprint(token);
        KNOWN.with_borrow_mut(|known| {
            if known.is_empty() {
                known.resize(SLOTS, Known { fingerprint: 0, hash: TokenHash::from_bytes([0; 32]) });
            }
            let place = usize::try_from(fingerprint % SLOTS as u128).unwrap_or_default();
            match known.get_mut(place) {
                Some(found) if found.fingerprint == fingerprint => found.hash,
                other => {
                    let hash = hash(token);
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
    fn a_token_has_the_same_hash_the_second_time_and_another_has_another() {
        let known = KnownTokens::new(&[7; 16]);
        // More than there are places, so that most are replaced in between.
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
    fn what_was_hashed_a_moment_ago_is_not_hashed_again() {
        let known = KnownTokens::new(&[7; 16]);
        let tokens: Vec<_> = (0..100).map(|number| format!("cmp_{number}")).collect();
        let mut hashed = 0;
        for token in tokens.iter().chain(&tokens) {
            known.find_or(token, |token| {
                hashed += 1;
                TokenHash::of(token)
            });
        }
        // Two that have the same place are rare.
        assert!((100..=104).contains(&hashed), "{hashed} of a hundred that came twice");
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
