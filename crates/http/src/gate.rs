//! Limits how many requests may wait for one resource at once, in total and per client. Responses from memory are not
//! limited.

use crate::{client::Client, error::ApiError};
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Limit for bursts, such as all clients reconnecting after a restart.
const CROWD: usize = 16_384;
/// How long a burst may take to be served. A queue that stays long for longer means sustained overload: more requests
/// arrive than can be served, and queueing them only adds latency.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit under sustained overload. It is enough to keep the resource busy.
const STANDING: usize = 256;
/// The overload ends when fewer requests than this wait. This is lower than the limit; otherwise a queue held at its
/// limit would count as over whenever one request leaves it.
const SHORT: usize = STANDING / 4;
/// `Retry-After` of rejected requests.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Limits the requests that wait for one resource.
#[derive(Default)]
pub struct Gate(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waiting: usize,
    /// Waiting requests by client. Those without an address count as one client.
    by_client: HashMap<Option<Client>, usize>,
    /// Since when the queue has been long.
    long_since: Option<Instant>,
}

impl Gate {
    /// Admits a request of this client until the returned guard is dropped.
    ///
    /// A client may hold at most as many places as are free. So a single client gets half of them, two get a third
    /// each, and there is always a place left for the next client.
    ///
    /// Returns [`ApiError::Overloaded`] if the client has its share, or no place is free.
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

/// An admitted request, released on drop.
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

    /// Admits one request of each of these clients, up to the first that is rejected.
    fn enter(gate: &Gate, clients: Range<usize>) -> Vec<Waiting<'_>> {
        clients.map_while(|number| gate.enter(client(number)).ok()).collect()
    }

    /// Admits requests of one client until one is rejected.
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
