//! Limits how many requests may wait for one resource at once, in total and per client. Responses from memory are not
//! limited.

use crate::{client::Client, error::ApiError};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Limit for bursts, such as all clients reconnecting after a restart.
const MAX_BURST: usize = 16_384;
/// How long a burst may take to be served. A queue that stays long for longer means sustained overload: more requests
/// arrive than can be served, and queueing them only adds latency.
const MAX_BURST_DURATION: Duration = Duration::from_secs(5);
/// Limit under sustained overload. It is enough to keep the resource busy.
const MAX_OVERLOADED: usize = 256;
/// The overload ends when fewer requests than this wait. This is lower than the limit; otherwise a queue held at its
/// limit would count as over whenever one request leaves it.
const OVERLOAD_END: usize = MAX_OVERLOADED / 4;
/// `Retry-After` of rejected requests.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Limits the requests that wait for one resource.
#[derive(Debug, Default)]
pub struct ConcurrencyLimiter(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: usize,
    /// Waiting requests by client. Those without an address count as one client.
    by_client: HashMap<Option<Client>, usize>,
    /// Since when the queue has been long.
    long_since: Option<Instant>,
}

impl ConcurrencyLimiter {
    /// Admits a request of this client until the returned permit is dropped.
    ///
    /// A client may hold at most as many permits as are free. So a single client gets half of them, two get a third
    /// each, and there is always one left for the next client.
    ///
    /// Returns [`ApiError::Overloaded`] if the client has its share, or none is free.
    pub fn acquire(&self, client: Option<Client>) -> Result<ConcurrencyPermit<'_>, ApiError> {
        let mut queue = self.queue();
        let is_overloaded = queue.long_since.is_some_and(|since| since.elapsed() >= MAX_BURST_DURATION);
        let free = if is_overloaded { MAX_OVERLOADED } else { MAX_BURST }.saturating_sub(queue.waiting);
        if queue.by_client.get(&client).copied().unwrap_or_default() >= free {
            return Err(ApiError::Overloaded(RETRY_AFTER));
        }
        queue.waiting += 1;
        *queue.by_client.entry(client).or_default() += 1;
        if queue.waiting >= MAX_OVERLOADED && queue.long_since.is_none() {
            queue.long_since = Some(Instant::now());
        }
        Ok(ConcurrencyPermit { limiter: self, client })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An admitted request, released on drop.
#[derive(Debug)]
pub struct ConcurrencyPermit<'a> {
    limiter: &'a ConcurrencyLimiter,
    client: Option<Client>,
}

impl Drop for ConcurrencyPermit<'_> {
    fn drop(&mut self) {
        let mut queue = self.limiter.queue();
        queue.waiting -= 1;
        if let Entry::Occupied(mut own) = queue.by_client.entry(self.client) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
        if queue.waiting < OVERLOAD_END {
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
    fn acquire_each(limiter: &ConcurrencyLimiter, clients: Range<usize>) -> Vec<ConcurrencyPermit<'_>> {
        clients.map_while(|number| limiter.acquire(client(number)).ok()).collect()
    }

    /// Admits requests of one client until one is rejected.
    fn flood(limiter: &ConcurrencyLimiter, client: Option<Client>) -> Vec<ConcurrencyPermit<'_>> {
        iter::from_fn(|| limiter.acquire(client).ok()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn admits_a_burst_up_to_the_limit() {
        let limiter = ConcurrencyLimiter::default();
        let mut crowd = acquire_each(&limiter, 0..MAX_BURST + 1);
        assert_eq!(crowd.len(), MAX_BURST);
        assert!(
            matches!(limiter.acquire(client(MAX_BURST)), Err(ApiError::Overloaded(wait)) if !wait.is_zero())
        );
        crowd.pop();
        assert!(limiter.acquire(client(MAX_BURST)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn lowers_the_limit_under_sustained_overload() {
        let limiter = ConcurrencyLimiter::default();
        let mut queue = acquire_each(&limiter, 0..MAX_OVERLOADED + 1);
        advance(MAX_BURST_DURATION / 2).await;
        queue.extend(limiter.acquire(client(MAX_BURST)));
        assert_eq!(queue.len(), MAX_OVERLOADED + 2, "a burst is tolerated at first");
        advance(MAX_BURST_DURATION / 2).await;
        assert!(limiter.acquire(None).is_err());
        queue.truncate(MAX_OVERLOADED - 1);
        queue.extend(acquire_each(&limiter, MAX_BURST..MAX_BURST + 2));
        assert_eq!(queue.len(), MAX_OVERLOADED, "each released permit admits one request only");
        queue.truncate(OVERLOAD_END - 1);
        queue.extend(acquire_each(&limiter, MAX_BURST..MAX_BURST + MAX_OVERLOADED + 1));
        assert_eq!(
            queue.len(),
            OVERLOAD_END + MAX_OVERLOADED,
            "the overload is over, so bursts are admitted again"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn limits_the_share_of_one_client() {
        let limiter = ConcurrencyLimiter::default();
        let mut one = flood(&limiter, client(1));
        assert_eq!(one.len(), MAX_BURST / 2);
        advance(MAX_BURST_DURATION).await;
        assert!(limiter.acquire(client(2)).is_err(), "the queue exceeds the lower limit");
        one.truncate(MAX_OVERLOADED - 1);
        assert!(limiter.acquire(client(1)).is_err());
        assert!(limiter.acquire(client(2)).is_ok(), "a permit is left for another client");
        one.truncate(MAX_OVERLOADED / 2);
        assert!(limiter.acquire(client(1)).is_err());
        let others = acquire_each(&limiter, 2..MAX_OVERLOADED);
        assert_eq!(others.len(), MAX_OVERLOADED / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn leaves_a_permit_for_the_next_client() {
        let limiter = ConcurrencyLimiter::default();
        let floods: Vec<_> = (1..=9).map(|number| flood(&limiter, client(number))).collect();
        assert!(floods.iter().all(|flood| !flood.is_empty()));
        assert!(limiter.acquire(client(10)).is_ok() && limiter.acquire(None).is_ok());
        drop(floods);
        assert!(limiter.queue().by_client.is_empty());
    }
}
