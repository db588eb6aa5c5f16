//! Encrypts platform tokens with XChaCha20-Poly1305.
//!
//! A sealed secret is a version byte, a random nonce of 24 bytes, and the ciphertext with its tag. Version and user id
//! are authenticated as associated data, so a secret sealed for one user does not open for another.

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use companion_domain::{
    model::{SecretKey, UserId},
    port::{Entropy, Opened, Sealed, Vault, VaultError},
};
use std::{fmt, sync::Arc};
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const PURPOSE: &str = "companion vault, version 1";
const NONCE: usize = 24;
const TAG: usize = 16;

/// A vault with a ring of keys. The first key seals; every key opens.
pub struct SealingVault {
    sealing: XChaCha20Poly1305,
    older: Vec<XChaCha20Poly1305>,
    entropy: Arc<dyn Entropy>,
}

impl SealingVault {
    /// Creates a vault that seals with `first` and also opens secrets sealed with `older` keys.
    #[must_use]
    pub fn new(first: &SecretKey, older: &[SecretKey], entropy: Arc<dyn Entropy>) -> Self {
        let cipher = |key: &SecretKey| XChaCha20Poly1305::new((&*key.derive(PURPOSE)).into());
        Self { sealing: cipher(first), older: older.iter().map(cipher).collect(), entropy }
    }

    /// Whether these bytes have the format of a sealed secret, whatever its key.
    #[must_use]
    pub fn is_sealed(sealed: &Sealed) -> bool {
        let bytes = sealed.as_bytes();
        bytes.first() == Some(&VERSION) && bytes.len() > NONCE + TAG
    }
}

impl Vault for SealingVault {
    fn seal(&self, user: UserId, secret: &[u8]) -> Sealed {
        let mut nonce = [0; NONCE];
        self.entropy.fill(&mut nonce);
        let payload = Payload { msg: secret, aad: &associated_data(user) };
        // The cipher fails only above 256 GiB. Such a secret would be stored as bytes that never open.
        let ciphertext = self.sealing.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        Sealed::from_bytes([&[VERSION], nonce.as_slice(), &ciphertext].concat())
    }

    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError> {
        let Some((&VERSION, rest)) = sealed.as_bytes().split_first() else { return Err(VaultError) };
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE>().ok_or(VaultError)?;
        let nonce = XNonce::from(*nonce);
        let attempt = |cipher: &XChaCha20Poly1305| {
            let payload = Payload { msg: ciphertext, aad: &associated_data(user) };
            cipher.decrypt(&nonce, payload).ok().map(Zeroizing::new)
        };
        if let Some(secret) = attempt(&self.sealing) {
            return Ok(Opened { secret, reseal: false });
        }
        let secret = self.older.iter().find_map(attempt).ok_or(VaultError)?;
        Ok(Opened { secret, reseal: true })
    }
}

/// Returns the associated data: version and user id.
fn associated_data(user: UserId) -> [u8; 9] {
    let mut bytes = [VERSION; 9];
    for (target, byte) in bytes.iter_mut().skip(1).zip(user.get().to_le_bytes()) {
        *target = byte;
    }
    bytes
}

impl fmt::Debug for SealingVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingVault({} keys)", self.older.len() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::SystemEntropy;
    use companion_testkit::conformance::Fresh;

    const SECRET: &[u8] = b"a platform token";

    fn with_keys(first: u8, older: &[u8]) -> SealingVault {
        let key = |byte: &u8| SecretKey::new([*byte; 32]);
        let older: Vec<_> = older.iter().map(key).collect();
        SealingVault::new(&key(&first), &older, Arc::new(SystemEntropy))
    }

    companion_testkit::vault_conformance! {
        Fresh::new(Arc::new(with_keys(1, &[2])))
    }

    #[test]
    fn opens_with_every_key_of_the_ring_and_requests_resealing() {
        let user = UserId::new(7).unwrap();
        let sealed = with_keys(1, &[]).seal(user, SECRET);
        let rotated = with_keys(2, &[3, 1]);
        let opened = rotated.open(user, &sealed).unwrap();
        assert_eq!((opened.secret.as_slice(), opened.reseal), (SECRET, true));
        let again = rotated.seal(user, SECRET);
        assert!(!rotated.open(user, &again).unwrap().reseal);
        for (sealed, first, older) in [(&again, 1, &[][..]), (&sealed, 2, &[3])] {
            assert_eq!(with_keys(first, older).open(user, sealed), Err(VaultError));
        }
    }

    #[test]
    fn debug_shows_no_keys() {
        assert_eq!(format!("{:?}", with_keys(1, &[2])), "SealingVault(2 keys)");
    }
}
