//! Keeping platform tokens unreadable at rest.

use crate::model::UserId;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes that only the vault that sealed them can open.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Bytes that a vault sealed.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// To be stored as they are.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}

/// What a vault found.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// What had been sealed.
    pub secret: Zeroizing<Vec<u8>>,
    /// Whether an older key opened it, so that it should be sealed again.
    pub reseal: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("reseal", &self.reseal).finish_non_exhaustive()
    }
}

/// The bytes were sealed for someone else, with a key that is not here, or were altered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sealed for someone else, with a key that is not configured, or altered")]
pub struct VaultError;

/// Seals and opens. Sealing the same twice gives different bytes.
pub trait Vault: Send + Sync {
    /// Seals bytes for one user.
    fn seal(&self, user: UserId, secret: &[u8]) -> Sealed;

    /// Opens what was sealed for this user, and nothing else.
    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_what_is_sealed_nor_what_was_opened_is_shown() {
        let sealed = Sealed::from_bytes(b"canary".to_vec());
        let opened = Opened { secret: Zeroizing::new(b"canary".to_vec()), reseal: false };
        assert_eq!(sealed.as_bytes(), b"canary");
        assert_eq!(format!("{sealed:?} {opened:?}"), "Sealed(6 bytes) Opened { reseal: false, .. }");
    }
}
