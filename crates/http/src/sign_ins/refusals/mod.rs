//! Limits the codes of one client in flight, and how many of them may be refused.

mod client_history;

use self::client_history::{ClientHistory, Rules};
use crate::{client::Client, error::ApiError};
use companion_domain::{
    model::CodeFingerprint,
    port::{ClientMark, IdentityError, IdentityErrorKind, Reputation},
};
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::futures::OwnedNotified,
    time::{Instant, timeout},
};

/// Number of clients above which idle ones are evicted.
const EVICT_IDLE_ABOVE: usize = 10_000;
/// Number of clients above which all without a code in flight are evicted.
const MAX_CLIENTS: usize = 100_000;
/// How long an attempt waits for a slot of its client.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The history of each client. An attempt takes a slot at once and returns it when it ends, so sending many at the same
/// time gains little. Attempts with the same code share one slot, because at most one of them reaches the platform.
pub(super) struct RefusalLimiter {
    rules: Rules,
    clients: Mutex<Clients>,
    hasher: RandomState,
}

struct Clients {
    histories: HashMap<Client, ClientHistory>,
    /// Number of clients at which idle ones are evicted next.
    capacity: usize,
}

/// An attempt in progress. It holds a slot until it ends; `None` if the client is unknown.
pub(super) struct Attempt {
    /// Identifies the client without its address.
    pub(super) client: ClientMark,
    /// The client's standing.
    pub(super) standing: Reputation,
    slot: Option<Slot>,
}

struct Slot {
    refusals: Arc<RefusalLimiter>,
    client: Client,
    code: CodeFingerprint,
    /// Whether another attempt with the same code took the slot first.
    is_shared: bool,
}

impl RefusalLimiter {
    /// Allows this many refused codes per client and minute.
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let clients = Mutex::new(Clients { histories: HashMap::new(), capacity: EVICT_IDLE_ABOVE });
        Self { rules: Rules::new(per_minute), clients, hasher: RandomState::new() }
    }

    /// Returns [`ApiError::RateLimited`] if the client has used up its refusals.
    pub(super) fn check(&self, client: Option<Client>) -> Result<(), ApiError> {
        let Some(client) = client else { return Ok(()) };
        let clients = self.clients();
        let left = clients.histories.get(&client).map(|history| history.left(self.rules, Instant::now()));
        left.map_or(Ok(()), |left| left.map(|_| ()))
    }

    /// Takes a slot for an attempt. Waits up to three seconds for one, then returns [`ApiError::RateLimited`].
    pub(super) async fn admit(
        self: &Arc<Self>,
        client: Option<Client>,
        code: CodeFingerprint,
    ) -> Result<Attempt, ApiError> {
        let Some(client) = client else {
            return Ok(Attempt { client: ClientMark::default(), standing: Reputation::Good, slot: None });
        };
        let admitted = async {
            loop {
                match self.try_admit(client, code)? {
                    Ok(attempt) => return Ok(attempt),
                    Err(ended) => ended.await,
                }
            }
        };
        timeout(MAX_WAIT, admitted).await.unwrap_or(Err(ApiError::RateLimited(self.rules.interval)))
    }

    /// Records a refused code.
    pub(super) fn count(&self, client: Option<Client>) {
        if let Some(client) = client {
            let now = Instant::now();
            self.clients().history(client, now).refused(self.rules, now);
        }
    }

    /// Takes a slot if one is free. Otherwise returns what to wait for: the end of another attempt of the client.
    fn try_admit(
        self: &Arc<Self>,
        client: Client,
        code: CodeFingerprint,
    ) -> Result<Result<Attempt, OwnedNotified>, ApiError> {
        let now = Instant::now();
        let mut clients = self.clients();
        let history = clients.history(client, now);
        let standing = history.standing();
        let is_shared = history.in_flight.contains_key(&code);
        if !is_shared && history.in_flight.len() >= history.slots(self.rules, now)? {
            return Ok(Err(Arc::clone(&history.ended).notified_owned()));
        }
        *history.in_flight.entry(code).or_default() += 1;
        let slot = Some(Slot { refusals: Arc::clone(self), client, code, is_shared });
        Ok(Ok(Attempt { client: ClientMark(self.hasher.hash_one(client)), standing, slot }))
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clients {
    fn history(&mut self, client: Client, now: Instant) -> &mut ClientHistory {
        if self.histories.len() >= self.capacity && !self.histories.contains_key(&client) {
            self.evict(now);
        }
        let history = self.histories.entry(client).or_insert_with(|| ClientHistory::new(now));
        history.seen(now);
        history
    }

    fn evict(&mut self, now: Instant) {
        self.histories.retain(|_, history| !history.is_idle(now));
        if self.histories.len() >= MAX_CLIENTS {
            self.histories.retain(|_, history| !history.in_flight.is_empty());
        }
        // If hardly any could be evicted, sweeping again soon would only cost time.
        self.capacity = EVICT_IDLE_ABOVE
            .max(self.histories.len() * 2)
            .min(MAX_CLIENTS.max(self.histories.len() + EVICT_IDLE_ABOVE));
    }
}

impl Attempt {
    /// Ends the attempt. Only failures caused by the sender count: not those of the platform or of this service, nor a
    /// code that another attempt sent first.
    pub(super) fn ended<T>(self, outcome: &Result<T, ApiError>) {
        let Some(slot) = self.slot.filter(|slot| !slot.is_shared) else { return };
        let RefusalLimiter { rules, .. } = *slot.refusals;
        let now = Instant::now();
        let mut clients = slot.refusals.clients();
        match outcome {
            Ok(_) => clients.history(slot.client, now).good(rules, now),
            Err(error) if is_client_fault(error) => clients.history(slot.client, now).refused(rules, now),
            Err(_) => {}
        }
        // Dropping the slot takes the lock.
        drop(clients);
    }
}

/// Whether a sign-in failed because of what the client sent: an invalid code, one with too few scopes, or one whose
/// tokens the platform rejected because the user revoked the authorisation meanwhile.
fn is_client_fault(error: &ApiError) -> bool {
    let token_refused = |cause: &IdentityError| cause.kind == IdentityErrorKind::TokenRefused;
    match error {
        ApiError::IdpCodeInvalid | ApiError::IdpScopeMissing => true,
        ApiError::ProviderFailed(cause) => cause.downcast_ref().is_some_and(token_refused),
        _ => false,
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut clients = self.refusals.clients();
        let Some(history) = clients.histories.get_mut(&self.client) else { return };
        if let Some(attempts) = history.in_flight.get_mut(&self.code) {
            *attempts -= 1;
            if *attempts == 0 {
                history.in_flight.remove(&self.code);
                history.ended.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::TrustedProxies;
    use actix_web::test::TestRequest;
    use std::net::{Ipv4Addr, SocketAddr};

    fn client(number: usize) -> Option<Client> {
        let address = SocketAddr::from((Ipv4Addr::from(u32::try_from(number).unwrap()), 5000));
        let request = TestRequest::default().peer_addr(address).to_http_request();
        Client::of(&request, &TrustedProxies::new(|_| false))
    }

    fn known(refusals: &RefusalLimiter) -> usize {
        refusals.clients().histories.len()
    }

    #[tokio::test(start_paused = true)]
    async fn evicts_idle_clients_above_the_threshold() {
        let refusals = Arc::new(RefusalLimiter::new(NonZeroU32::MIN));
        let in_flight = refusals.admit(client(0), CodeFingerprint::from_bytes([0; 32])).await.unwrap();
        for number in 1..=EVICT_IDLE_ABOVE {
            refusals.count(client(number));
        }
        assert_eq!(known(&refusals), EVICT_IDLE_ABOVE + 1, "all of them have refusals");
        tokio::time::advance(Duration::from_secs(600)).await;
        refusals.clients().capacity = EVICT_IDLE_ABOVE;
        refusals.count(client(EVICT_IDLE_ABOVE + 1));
        assert_eq!(known(&refusals), 2, "one in flight, and one with a refusal");
        drop(in_flight);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_the_number_of_clients() {
        let refusals = Arc::new(RefusalLimiter::new(NonZeroU32::MIN));
        let in_flight = refusals.admit(client(0), CodeFingerprint::from_bytes([0; 32])).await.unwrap();
        for number in 1..=2 * MAX_CLIENTS + 2 {
            refusals.count(client(number));
            assert!(known(&refusals) <= MAX_CLIENTS + 1);
        }
        assert!(refusals.clients().histories.contains_key(&client(0).unwrap()), "it is in flight");
        drop(in_flight);
    }
}
