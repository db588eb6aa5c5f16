//! System services: time, randomness, background work, encryption, and the state of a store.

use super::StoreError;
use crate::model::{Timestamp, UserId};
use async_trait::async_trait;
use std::{fmt, pin::Pin, time::Duration};
use zeroize::Zeroizing;

/// Tells the date and monotonic time. The service has one real clock; tests control their own.
///
/// Stored or received times are dates, interpreted by [`Timestamp::age_of`]. Durations within one process are
/// measured by [`monotonic`](Self::monotonic).
pub trait Clock: Send + Sync {
    /// Returns the date. It can be wrong, and can be set, back as well as forward.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed moment of the process. It never goes back and cannot be set.
    fn monotonic(&self) -> Duration;
}

/// Returns unpredictable random bytes, different for every handle. Tests use predictable ones.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// Returns 32 random bytes, as many as a key, a token or a seed has.
    fn draw(&self) -> Zeroizing<[u8; 32]> {
        let mut drawn = Zeroizing::new([0; 32]);
        self.fill(drawn.as_mut_slice());
        drawn
    }
}

/// A unit of background work.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs background work, and waits.
///
/// Delays are real time; dates are judged by the [`Clock`](super::Clock).
#[async_trait]
pub trait Scheduler: Send + Sync {
    /// Starts the work and returns at once. The work runs to its end even if the caller is cancelled, and waits for
    /// no other work; only the end of the process aborts it. The order in which units of work are polled is unspecified.
    fn start(&self, work: Work);

    /// Returns after this delay.
    async fn pause(&self, length: Duration);

    /// Waits for all started work, including work started by work, but at most `patience`. Called on shutdown.
    async fn finish(&self, patience: Duration);
}

/// Checks the state of a store.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns `Ok` if the store answers, its schema is complete, and the last write, if any, did not fail
    /// permanently, as on a full disk. The error says what is wrong. It queries the store each time, since a cached
    /// answer would be worthless.
    ///
    /// It is a read: it records no change and waits for no writer, so a busy store is healthy. Only a store whose
    /// last write failed permanently attempts a small write, so that it recovers as soon as the cause is gone,
    /// whether or not there are other writes.
    async fn check(&self) -> Result<(), StoreError>;
}

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
