//! A vault with well-known keys.

use companion_domain::{
    model::{SecretKey, UserId},
    port::{Opened, Sealed, Vault, VaultError},
};
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

const NONCE: usize = 8;
const TAG: usize = 32;

/// Seals with a key that is a plain number: repeatable, and therefore not secret.
///
/// It keeps the promises that use cases rely on: sealed secrets are not readable, open for their user only, do not open
/// once altered, and sealing twice gives different bytes. Never use it outside of tests.
#[derive(Debug)]
pub struct TestVault {
    key: SecretKey,
    older: Vec<SecretKey>,
    sealed: AtomicU64,
}

impl TestVault {
    /// Creates a vault with this key.
    #[must_use]
    pub fn new(key: u8) -> Self {
        Self { key: key_of(key), older: Vec::new(), sealed: AtomicU64::new(0) }
    }

    /// Adds an older key, which also opens and requests resealing.
    #[must_use]
    pub fn with_older(mut self, key: u8) -> Self {
        self.older.push(key_of(key));
        self
    }
}

impl Default for TestVault {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Vault for TestVault {
    fn seal(&self, user: UserId, secret: &[u8]) -> Sealed {
        let nonce = self.sealed.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let hidden = mask(&self.key, user, nonce, secret);
        let tag = tag(&self.key, user, nonce, &hidden);
        Sealed::from_bytes([nonce.as_slice(), &tag, &hidden].concat())
    }

    fn open(&self, user: UserId, sealed: &Sealed) -> Result<Opened, VaultError> {
        let (nonce, rest) = sealed.as_bytes().split_first_chunk::<NONCE>().ok_or(VaultError)?;
        let (sent, hidden) = rest.split_first_chunk::<TAG>().ok_or(VaultError)?;
        let fits = |key: &&SecretKey| tag(key, user, *nonce, hidden) == *sent;
        let newest = Some(&self.key).filter(fits);
        let key = newest.or_else(|| self.older.iter().find(fits)).ok_or(VaultError)?;
        Ok(Opened { secret: Zeroizing::new(mask(key, user, *nonce, hidden)), reseal: newest.is_none() })
    }
}

fn key_of(number: u8) -> SecretKey {
    SecretKey::new([number; 32])
}

/// Encrypts or decrypts bytes with a stream derived from key, user and nonce.
fn mask(key: &SecretKey, user: UserId, nonce: [u8; NONCE], bytes: &[u8]) -> Vec<u8> {
    let stream = key.derive(&format!("test vault stream {user} {nonce:?}"));
    bytes.iter().zip(stream.iter().cycle()).map(|(byte, masking)| byte ^ masking).collect()
}

fn tag(key: &SecretKey, user: UserId, nonce: [u8; NONCE], hidden: &[u8]) -> [u8; TAG] {
    *key.derive(&format!("test vault tag {user} {nonce:?} {hidden:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::user_id;

    #[test]
    fn an_older_key_opens_and_requests_resealing() {
        let sealed = TestVault::new(1).seal(user_id(5), b"secret");
        let opened = TestVault::new(2).with_older(1).open(user_id(5), &sealed).unwrap();
        assert_eq!((opened.secret.as_slice(), opened.reseal), (b"secret".as_slice(), true));
        assert_eq!(TestVault::new(2).open(user_id(5), &sealed), Err(VaultError));
    }
}
