//! How many requests may wait for one thing at once, and how many of them may be of one client. Requests that are
//! answered from memory never come here.

use crate::{client::Client, error::ApiError};
use std::{
    collections::{HashMap, hash_map::Entry},
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
    /// How many of them are of each client. Those without an address count as one client.
    by_client: HashMap<Option<Client>, usize>,
    /// Since when it is long.
    long_since: Option<Instant>,
}

impl Gate {
    /// Lets a request of this client wait for as long as what it gets is kept, or turns it away at once.
    ///
    /// A client has at most as many places as are free. So one alone has half of them, two have a third each, and however
    /// many come, there is a place left for the next client.
    pub fn enter(&self, client: Option<Client>) -> Result<Waiting<'_>, ApiError> {
        let mut queue = self.queue();
        let stands = queue.long_since.is_some_and(|since| since.elapsed() >= PATIENCE);
        let free = if stands { STANDING } else { CROWD }.saturating_sub(queue.waiting);
        if queue.by_client.get(&client).copied().unwrap_or_default() >= free {
            return Err(ApiError::Overloaded(TRY_AGAIN));
        }
        queue.waiting += 1;
        *queue.by_client.entry(client).or_default() += 1;
        if queue.waiting >= STANDING && queue.long_since.is_none() {
            queue.long_since = Some(Instant::now());
        }
        Ok(Waiting { gate: self, client })
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
pub struct Waiting<'a> {
    gate: &'a Gate,
    client: Option<Client>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.gate.queue();
        queue.waiting -= 1;
        if let Entry::Occupied(mut own) = queue.by_client.entry(self.client) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
        if queue.waiting < SHORT {
            queue.long_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{iter, net::Ipv4Addr, ops::Range};
    use tokio::time::advance;

    fn client(number: usize) -> Option<Client> {
        Some(Client::at(Ipv4Addr::from(u32::try_from(number).unwrap()).into()))
    }

    /// One request of each of these clients, up to the first that is turned away.
    fn enter(gate: &Gate, clients: Range<usize>) -> Vec<Waiting<'_>> {
        clients.map_while(|number| gate.enter(client(number)).ok()).collect()
    }

    /// All that may wait of one client.
    fn flood(gate: &Gate, client: Option<Client>) -> Vec<Waiting<'_>> {
        iter::from_fn(|| gate.enter(client).ok()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_let_in_up_to_a_limit() {
        let gate = Gate::default();
        let mut crowd = enter(&gate, 0..CROWD + 1);
        assert_eq!(crowd.len(), CROWD);
        assert!(matches!(gate.enter(client(CROWD)), Err(ApiError::Overloaded(wait)) if !wait.is_zero()));
        crowd.pop();
        assert!(gate.enter(client(CROWD)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_that_stays_long_is_shortened() {
        let gate = Gate::default();
        let mut queue = enter(&gate, 0..STANDING + 1);
        advance(PATIENCE / 2).await;
        queue.extend(gate.enter(client(CROWD)));
        assert_eq!(queue.len(), STANDING + 2, "a crowd has time");
        advance(PATIENCE / 2).await;
        assert!(gate.enter(None).is_err());
        queue.truncate(STANDING - 1);
        queue.extend(enter(&gate, CROWD..CROWD + 2));
        assert_eq!(queue.len(), STANDING, "who leaves makes room for one, and not for a crowd");
        queue.truncate(SHORT - 1);
        queue.extend(enter(&gate, CROWD..CROWD + STANDING + 1));
        assert_eq!(queue.len(), SHORT + STANDING, "it has got through, and the next may be a crowd again");
    }

    #[tokio::test(start_paused = true)]
    async fn no_client_takes_the_places_of_others() {
        let gate = Gate::default();
        let mut one = flood(&gate, client(1));
        assert_eq!(one.len(), CROWD / 2);
        advance(PATIENCE).await;
        assert!(gate.enter(client(2)).is_err(), "far too many wait already");
        one.truncate(STANDING - 1);
        assert!(gate.enter(client(1)).is_err());
        assert!(gate.enter(client(2)).is_ok(), "there is a place for another client");
        one.truncate(STANDING / 2);
        assert!(gate.enter(client(1)).is_err());
        let others = enter(&gate, 2..STANDING);
        assert_eq!(others.len(), STANDING / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_flood_it_a_place_is_left() {
        let gate = Gate::default();
        let floods: Vec<_> = (1..=9).map(|number| flood(&gate, client(number))).collect();
        assert!(floods.iter().all(|flood| !flood.is_empty()));
        assert!(gate.enter(client(10)).is_ok() && gate.enter(None).is_ok());
        drop(floods);
        assert!(gate.queue().by_client.is_empty());
    }
}
