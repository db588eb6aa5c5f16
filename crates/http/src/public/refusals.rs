//! How many refused codes one client may send.

use crate::{client::Client, error::ApiError};
use companion_domain::model::CodeFingerprint;
use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, futures::OwnedNotified},
    time::{Instant, timeout},
};

/// Once there are so many clients, those are forgotten that have nothing to be remembered for.
const MANY: usize = 10_000;
/// How long an attempt waits for those of the same client that are under way.
const PATIENCE: Duration = Duration::from_secs(3);

/// Counts refused codes by client. An attempt takes a place at once, and gives it back unless its code was refused: so
/// many attempts at the same moment are no way around the limit. Whoever sends good codes is never turned away, and
/// waits only while all places are taken by attempts under way. Attempts with one code share one place, because at most
/// one of them reaches the platform.
pub(super) struct Refusals {
    limit: u32,
    /// How long it takes until one refusal is forgiven.
    interval: Duration,
    clients: Mutex<Clients>,
}

struct Clients {
    accounts: HashMap<Client, Account>,
    /// How many there may be before the idle ones are forgotten.
    room: usize,
}

struct Account {
    /// When every refusal is forgiven.
    clean_at: Instant,
    /// The codes under way, each with the number of attempts that share it.
    under_way: HashMap<CodeFingerprint, usize>,
    /// Told whenever an attempt has ended.
    ended: Arc<Notify>,
}

/// A place that an attempt holds until it has ended; nothing where the client is not known.
pub(super) struct Attempt(Option<Place>);

struct Place {
    refusals: Arc<Refusals>,
    client: Client,
    code: CodeFingerprint,
    /// Whether another attempt with the same code had it first.
    shared: bool,
}

enum Admission {
    Admitted { shared: bool },
    AfterAnother(OwnedNotified),
}

impl Refusals {
    /// Allows so many refused codes a minute.
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        Self {
            limit: per_minute.get(),
            interval: Duration::from_secs(60) / per_minute.get(),
            clients: Mutex::new(Clients { accounts: HashMap::new(), room: MANY }),
        }
    }

    /// Turns away a client that has used up its refusals.
    pub(super) fn check(&self, client: Option<Client>) -> Result<(), ApiError> {
        let Some(client) = client else { return Ok(()) };
        self.clients().accounts.get(&client).map_or(Ok(()), |account| self.left(account).map(|_| ()))
    }

    /// Takes a place for an attempt, as soon as there is one.
    pub(super) async fn admit(
        self: &Arc<Self>,
        client: Option<Client>,
        code: CodeFingerprint,
    ) -> Result<Attempt, ApiError> {
        let Some(client) = client else { return Ok(Attempt(None)) };
        let admitted = async {
            loop {
                match self.enter(client, code)? {
                    Admission::AfterAnother(ended) => ended.await,
                    Admission::Admitted { shared } => {
                        return Ok(Attempt(Some(Place { refusals: Arc::clone(self), client, code, shared })));
                    }
                }
            }
        };
        timeout(PATIENCE, admitted).await.unwrap_or(Err(ApiError::RateLimited(self.interval)))
    }

    /// Notes a refused code.
    pub(super) fn count(&self, client: Option<Client>) {
        let Some(client) = client else { return };
        let now = Instant::now();
        let mut clients = self.clients();
        let account = clients.account(client);
        let clean_at = account.clean_at.max(now) + self.interval;
        // Whoever has used up everything cannot use up more.
        account.clean_at = clean_at.min(now + self.interval * self.limit);
    }

    fn enter(&self, client: Client, code: CodeFingerprint) -> Result<Admission, ApiError> {
        let mut clients = self.clients();
        let account = clients.account(client);
        if let Some(attempts) = account.under_way.get_mut(&code) {
            *attempts += 1;
            return Ok(Admission::Admitted { shared: true });
        }
        if account.under_way.len() < self.left(account)? as usize {
            account.under_way.insert(code, 1);
            return Ok(Admission::Admitted { shared: false });
        }
        Ok(Admission::AfterAnother(Arc::clone(&account.ended).notified_owned()))
    }

    /// How many refusals the client has left: at least one, or the time until it has one again.
    fn left(&self, account: &Account) -> Result<u32, ApiError> {
        let until_clean = account.clean_at.saturating_duration_since(Instant::now());
        let used = until_clean.as_nanos().div_ceil(self.interval.as_nanos().max(1));
        let left = self.limit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
        if left == 0 {
            return Err(ApiError::RateLimited(until_clean.saturating_sub(self.interval * (self.limit - 1))));
        }
        Ok(left)
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clients {
    fn account(&mut self, client: Client) -> &mut Account {
        if self.accounts.len() >= self.room && !self.accounts.contains_key(&client) {
            let now = Instant::now();
            self.accounts.retain(|_, account| !account.under_way.is_empty() || account.clean_at > now);
            // Where hardly any could be forgotten, looking again soon would only cost time.
            self.room = MANY.max(self.accounts.len() * 2);
        }
        self.accounts.entry(client).or_insert_with(|| Account {
            clean_at: Instant::now(),
            under_way: HashMap::new(),
            ended: Arc::default(),
        })
    }
}

impl Attempt {
    /// Ends the attempt. Only a refused code counts, and one that does not grant enough, which is the sender's doing too:
    /// not the platform's failures, nor ours, nor a code that was not even sent because someone else was first.
    pub(super) fn ended<T>(self, outcome: &Result<T, ApiError>) {
        if let (Some(place), Err(ApiError::IdpCodeInvalid | ApiError::IdpScopeMissing)) = (&self.0, outcome)
            && !place.shared
        {
            place.refusals.count(Some(place.client));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clients = self.refusals.clients();
        let account = clients.account(self.client);
        if let Some(attempts) = account.under_way.get_mut(&self.code) {
            *attempts -= 1;
            if *attempts == 0 {
                account.under_way.remove(&self.code);
                account.ended.notify_waiters();
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

    fn client(number: u32) -> Option<Client> {
        let address = SocketAddr::from((Ipv4Addr::from(number), 5000));
        let request = TestRequest::default().peer_addr(address).to_http_request();
        Client::of(&request, &TrustedProxies::none())
    }

    #[tokio::test(start_paused = true)]
    async fn clients_with_nothing_to_be_remembered_for_are_forgotten_once_there_are_many() {
        let refusals = Arc::new(Refusals::new(NonZeroU32::MIN));
        let under_way = refusals.admit(client(0), CodeFingerprint::from_bytes([0; 32])).await.unwrap();
        for number in 1..=MANY as u32 {
            refusals.count(client(number));
        }
        assert_eq!(refusals.clients().accounts.len(), MANY + 1, "all of them have refusals");
        tokio::time::advance(Duration::from_secs(60)).await;
        refusals.clients().room = MANY;
        refusals.count(client(MANY as u32 + 1));
        assert_eq!(refusals.clients().accounts.len(), 2, "one is under way, and one has a refusal");
        drop(under_way);
    }

    #[tokio::test(start_paused = true)]
    async fn no_number_of_refusals_makes_anyone_wait_for_more_than_one_to_be_forgiven() {
        let refusals = Refusals::new(NonZeroU32::new(3).unwrap());
        for _ in 0..100 {
            refusals.count(client(1));
        }
        let Err(ApiError::RateLimited(wait)) = refusals.check(client(1)) else { panic!("it is used up") };
        assert_eq!(wait, Duration::from_secs(20));
        tokio::time::advance(wait).await;
        assert!(refusals.check(client(1)).is_ok());
    }
}
