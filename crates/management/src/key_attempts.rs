//! Rate limit of wrong keys per client.

use companion_http::{ApiError, Client, KeyName};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Wrong keys that one client may send within [`WINDOW`].
const MAX_WRONG: u32 = 5;
const WINDOW: Duration = Duration::from_secs(1);
/// How long after its last use a key is still accepted from a rate-limited client.
const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);
/// Maximum number of tracked clients, and of remembered key uses. Further clients share one count.
const MAX_CLIENTS: usize = 10_000;

/// Counts the wrong keys of each client, and remembers the valid keys it sent.
#[derive(Debug)]
pub(crate) struct KeyAttemptLimiter(Mutex<AttemptCounts>);

#[derive(Debug)]
struct AttemptCounts {
    /// Start of the current window.
    since: Instant,
    /// Wrong keys in the current window; `None` counts all untracked clients.
    wrong: HashMap<Option<Client>, u32>,
    /// Until when a client may use a key despite its rate limit.
    known: HashMap<(Client, KeyName), Instant>,
}

impl KeyAttemptLimiter {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(AttemptCounts {
            since: Instant::now(),
            wrong: HashMap::new(),
            known: HashMap::new(),
        }))
    }

    /// Returns [`ApiError::RateLimited`] for a client that sent too many wrong keys. Its next key must only be compared
    /// with those it [has used](Self::has_used): a response about any other would confirm a guess.
    pub(crate) fn check(&self, client: Client) -> Result<(), ApiError> {
        let now = Instant::now();
        let counts = self.counts(now);
        let bucket = counts.bucket_of(client);
        if counts.wrong.get(&bucket).is_some_and(|wrong| *wrong >= MAX_WRONG) {
            return Err(ApiError::RateLimited(WINDOW.saturating_sub(now - counts.since)));
        }
        Ok(())
    }

    /// Whether a client used the key of this name within the last hour.
    pub(crate) fn has_used(&self, client: Client, key: &KeyName) -> bool {
        let now = Instant::now();
        self.counts(now).known.get(&(client, key.clone())).is_some_and(|until| *until > now)
    }

    /// Counts a wrong key.
    pub(crate) fn record_wrong(&self, client: Client) {
        let mut counts = self.counts(Instant::now());
        let bucket = counts.bucket_of(client);
        *counts.wrong.entry(bucket).or_default() += 1;
    }

    /// Remembers the use of a valid key.
    pub(crate) fn record_valid(&self, client: Client, key: &KeyName) {
        let now = Instant::now();
        let known = &mut self.counts(now).known;
        let use_of_key = (client, key.clone());
        if known.len() >= MAX_CLIENTS {
            known.retain(|_, until| *until > now);
        }
        if known.len() < MAX_CLIENTS || known.contains_key(&use_of_key) {
            known.insert(use_of_key, now + KNOWN_FOR);
        }
    }

    /// Locks the counts, and starts a new window if the last has ended.
    fn counts(&self, now: Instant) -> MutexGuard<'_, AttemptCounts> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now - counts.since >= WINDOW {
            counts.since = now;
            counts.wrong.clear();
        }
        counts
    }
}

impl AttemptCounts {
    fn bucket_of(&self, client: Client) -> Option<Client> {
        let tracked = self.wrong.len() < MAX_CLIENTS || self.wrong.contains_key(&Some(client));
        tracked.then_some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;
    use companion_http::TrustedProxies;
    use std::net::Ipv4Addr;

    fn client(number: u32) -> Client {
        let request = TestRequest::default().peer_addr((Ipv4Addr::from(number), 5000).into());
        Client::of(&request.to_http_request(), &TrustedProxies::none()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn untracked_clients_share_one_count() {
        let attempts = KeyAttemptLimiter::new();
        for number in 0..2 * MAX_CLIENTS as u32 {
            attempts.record_wrong(client(number));
        }
        assert_eq!(attempts.counts(Instant::now()).wrong.len(), MAX_CLIENTS + 1);
        assert!(attempts.check(client(0)).is_ok(), "one wrong key is allowed");
        assert!(attempts.check(client(u32::MAX)).is_err(), "untracked clients share the limit");
        tokio::time::advance(WINDOW).await;
        assert!(attempts.check(client(u32::MAX)).is_ok());
        assert_eq!(attempts.counts(Instant::now()).wrong.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_key_uses_make_room() {
        let (attempts, key) = (KeyAttemptLimiter::new(), KeyName::of_management_key());
        for number in 0..MAX_CLIENTS as u32 + 100 {
            attempts.record_valid(client(number), &key);
        }
        assert_eq!(attempts.counts(Instant::now()).known.len(), MAX_CLIENTS);
        tokio::time::advance(KNOWN_FOR).await;
        attempts.record_valid(client(u32::MAX), &key);
        assert_eq!(attempts.counts(Instant::now()).known.len(), 1);
    }
}
