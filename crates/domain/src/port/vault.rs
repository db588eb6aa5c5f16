//! Encryption of platform tokens at rest.

use crate::model::UserId;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes that only the vault that sealed them can open.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

impl Sealed {
    /// Wraps sealed bytes.
    #[must_use]
    pub const fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, to be stored as they are.
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

/// The content of sealed bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// The plaintext.
    pub secret: Zeroizing<Vec<u8>>,
    /// Whether an older key opened it, so that it should be sealed again.
    pub reseal: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("reseal", &self.reseal).finish_non_exhaustive()
    }
}

/// The bytes were sealed for another user or with an unknown key, or were altered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sealed for another user, with a key that is not configured, or altered")]
pub struct VaultError;

/// Seals and opens secrets. Sealing the same secret twice gives different bytes.
pub trait Vault: Send + Sync {
    /// Seals a secret for one user.
    fn seal(&self, user: UserId, secret: &[u8]) -> Sealed;

    /// Opens what was sealed for this user.
    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_redacts_sealed_and_opened_bytes() {
        let sealed = Sealed::from_bytes(b"canary".to_vec());
        let opened = Opened { secret: Zeroizing::new(b"canary".to_vec()), reseal: false };
        assert_eq!(sealed.as_bytes(), b"canary");
        assert_eq!(format!("{sealed:?} {opened:?}"), "Sealed(6 bytes) Opened { reseal: false, .. }");
    }
}
