//! Text that nobody can guess.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::hash::{BuildHasher, RandomState};

/// 24 random bytes as text.
pub(super) fn text() -> String {
    let mut bytes = [0; 24];
    if getrandom::getrandom(&mut bytes).is_err() {
        // A system without randomness still has the seeds of its hash tables, which do for development.
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        }
    }
    URL_SAFE_NO_PAD.encode(bytes)
}
