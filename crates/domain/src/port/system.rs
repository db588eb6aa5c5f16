//! What the machine gives: time, randomness, background work, and the state of a store.

use super::StoreError;
use crate::model::Timestamp;
use async_trait::async_trait;
use std::{pin::Pin, time::Duration};
use zeroize::Zeroizing;

/// Tells the time, in two ways. The service has one real clock; tests hold theirs in the hand.
///
/// What is stored, or comes from elsewhere, has a date, and is read by the rule of
/// [`Timestamp::age_of`]. What happens within one process is measured by [`monotonic`](Self::monotonic).
pub trait Clock: Send + Sync {
    /// The date now. It can be wrong, and can be set, back as well as forth.
    fn now(&self) -> Timestamp;

    /// How long it is since some moment that is the same for as long as the process runs. It never goes back, and nobody
    /// sets it.
    fn monotonic(&self) -> Duration;
}

/// Gives random bytes that nobody can predict, and no two handles the same. Tests give predictable ones.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// As many as a key, a token or a seed has.
    fn draw(&self) -> Zeroizing<[u8; 32]> {
        let mut drawn = Zeroizing::new([0; 32]);
        self.fill(drawn.as_mut_slice());
        drawn
    }
}

/// Something to be done, whoever waits for it.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs work beside the requests, and lets time pass.
///
/// Time here is the time that a person waits; what has a date is judged by the [`Clock`](super::Clock).
#[async_trait]
pub trait Scheduler: Send + Sync {
    /// Starts the work and returns at once. It goes on to its end whatever becomes of the caller, and waits for no other
    /// work; only the end of the process cuts it off. In which order pieces of work get their turns is left open.
    fn start(&self, work: Work);

    /// Returns after this long.
    async fn pause(&self, length: Duration);

    /// Waits for everything that was started, also by work itself, but not longer than `patience`: the program is about to
    /// end.
    async fn finish(&self, patience: Duration);
}

/// Asks a store how it is.
#[async_trait]
pub trait Health: Send + Sync {
    /// Returns when the store answers, its schema is complete, and the last write, if there was one, did not fail for good
    /// as it would on a full disk; the error says what is wrong. It really asks: an answer from memory would be worth
    /// nothing.
    ///
    /// It is a read. It records no change, and it waits for no writer: a store that is busy is fit. Only a store whose
    /// last write failed for good tries a small one, so that it is fit again as soon as the cause is gone, whether or not
    /// anyone else writes.
    async fn check(&self) -> Result<(), StoreError>;
}
