//! How many requests may wait for one thing at once. Whoever needs to wait for nothing never comes here.

use crate::error::ApiError;
use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A crowd that comes at once, as after a restart, may wait up to this number.
const CROWD: usize = 16_384;
/// How long it may take a crowd to be served. A queue that is long for longer is no crowd: more come than can be served, and
/// to let them all wait would serve nobody sooner.
const PATIENCE: Duration = Duration::from_secs(5);
/// As many may wait then, which is enough to keep whatever they wait for at work.
const STANDING: usize = 256;
/// A queue that was long is over when fewer than this wait. It is less than may stay, or a queue that is kept at its limit
/// would count as over whenever someone leaves it.
const SHORT: usize = STANDING / 4;
/// When those who are turned away should try again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The way to something that requests wait for.
#[derive(Default)]
pub struct Gate(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: usize,
    /// Since when it is long.
    long_since: Option<Instant>,
}

impl Gate {
    /// Lets a request wait for as long as what it gets is kept, or turns it away at once.
    pub fn enter(&self) -> Result<Waiting<'_>, ApiError> {
        let mut queue = self.queue();
        let stands = queue.long_since.is_some_and(|since| since.elapsed() >= PATIENCE);
        if queue.waiting >= if stands { STANDING } else { CROWD } {
            return Err(ApiError::Overloaded(TRY_AGAIN));
        }
        queue.waiting += 1;
        if queue.waiting >= STANDING && queue.long_since.is_none() {
            queue.long_since = Some(Instant::now());
        }
        Ok(Waiting(self))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("waiting", &self.queue().waiting).finish()
    }
}

/// A request that waits.
#[derive(Debug)]
pub struct Waiting<'a>(&'a Gate);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.waiting -= 1;
        if queue.waiting < SHORT {
            queue.long_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    fn enter(gate: &Gate, count: usize) -> Vec<Waiting<'_>> {
        (0..count).map_while(|_| gate.enter().ok()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_let_in_up_to_a_limit() {
        let gate = Gate::default();
        let mut crowd = enter(&gate, CROWD + 1);
        assert_eq!(crowd.len(), CROWD);
        assert!(matches!(gate.enter(), Err(ApiError::Overloaded(wait)) if !wait.is_zero()));
        crowd.pop();
        assert!(gate.enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_stays_long_is_shortened() {
        let gate = Gate::default();
        let mut queue = enter(&gate, STANDING + 1);
        advance(PATIENCE / 2).await;
        queue.extend(enter(&gate, 1));
        assert_eq!(queue.len(), STANDING + 2, "a crowd has time");
        advance(PATIENCE / 2).await;
        assert!(gate.enter().is_err());
        queue.truncate(STANDING - 1);
        queue.extend(enter(&gate, 2));
        assert_eq!(queue.len(), STANDING, "who leaves makes room for one, and not for a crowd");
        queue.truncate(SHORT - 1);
        queue.extend(enter(&gate, STANDING + 1));
        assert_eq!(queue.len(), SHORT + STANDING, "it has got through, and the next may be a crowd again");
    }
}
