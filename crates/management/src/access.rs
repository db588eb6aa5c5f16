//! The keys of the management API, their scopes, and the rate limit of wrong ones.

use actix_web::{
    HttpMessage as _, HttpRequest,
    http::header::{AUTHORIZATION, HeaderMap},
};
use arc_swap::ArcSwap;
use companion_domain::{
    model::Secret,
    session::{KnownTokens, TokenHash},
};
use companion_http::{
    ApiError, Client, KeyName,
    headers::{Only, only},
};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

const SCHEME: &[u8] = b"Bearer ";

/// A key for a part of the management API.
#[derive(Debug, Clone)]
pub struct ScopedKey {
    /// Name of the key in the audit trail.
    pub name: KeyName,
    /// The key itself.
    pub key: Secret,
    /// The scopes of the key.
    pub scopes: BTreeSet<Scope>,
}

/// The accepted keys. Clones share them. Only hashes are stored, and they are compared in constant time.
#[derive(Clone)]
pub struct ManagementKeys(Arc<ArcSwap<Vec<KnownKey>>>);

#[derive(Clone)]
struct KnownKey {
    hash: TokenHash,
    bearer: Bearer,
}

impl KnownKey {
    fn new(key: &Secret, name: KeyName, scopes: Arc<BTreeSet<Scope>>) -> Self {
        Self { hash: hash(key.expose().as_bytes()), bearer: Bearer { name, scopes } }
    }
}

/// The holder of an accepted key.
#[derive(Debug, Clone)]
pub(crate) struct Bearer {
    name: KeyName,
    scopes: Arc<BTreeSet<Scope>>,
}

impl Bearer {
    /// Returns the key holder of this request.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, ApiError> {
        request.extensions().get().cloned().ok_or(ApiError::KeyMissing)
    }

    /// Stores the key holder in the request, for handlers and the audit trail.
    fn attach(self, request: &HttpRequest) {
        let mut extensions = request.extensions_mut();
        extensions.insert(self.name.clone());
        extensions.insert(self);
    }

    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Returns [`ApiError::KeyScopeMissing`] if the key lacks this scope.
    pub(crate) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.may(scope) {
            return Ok(());
        }
        Err(ApiError::KeyScopeMissing { key: self.name.to_string(), scope: scope.name() })
    }
}

impl ManagementKeys {
    /// Accepts any of these keys for every scope. Empty keys are ignored.
    #[must_use]
    pub fn new(keys: &[Secret]) -> Self {
        let (name, scopes) = (KeyName::of_management_key(), Arc::new(BTreeSet::from(Scope::ALL)));
        let keys = keys.iter().filter(|key| !key.expose().is_empty());
        let keys = keys.map(|key| KnownKey::new(key, name.clone(), Arc::clone(&scopes)));
        Self(Arc::new(ArcSwap::from_pointee(keys.collect())))
    }

    /// Accepts these keys too, each for its scopes.
    #[must_use]
    pub fn with(self, scoped: impl IntoIterator<Item = ScopedKey>) -> Self {
        let scoped = scoped.into_iter();
        let scoped =
            scoped.map(|ScopedKey { name, key, scopes }| KnownKey::new(&key, name, Arc::new(scopes)));
        let keys = self.0.load().iter().cloned().chain(scoped).collect();
        Self(Arc::new(ArcSwap::from_pointee(keys)))
    }

    /// Replaces the key of this name; the old one is no longer accepted. Returns whether the key differs from the
    /// previous one. Returns the other name as an error if another name has the same key, because requests could no
    /// longer be attributed.
    pub fn exchange(&self, name: &KeyName, key: &Secret) -> Result<bool, KeyName> {
        let hash = hash(key.expose().as_bytes());
        let known = self.0.load();
        if let Some(taken) = known.iter().find(|known| known.hash == hash) {
            return if taken.bearer.name == *name { Ok(false) } else { Err(taken.bearer.name.clone()) };
        }
        let exchanged = |known: &KnownKey| {
            let hash = if known.bearer.name == *name { hash } else { known.hash };
            KnownKey { hash, ..known.clone() }
        };
        self.0.store(Arc::new(known.iter().map(exchanged).collect()));
        Ok(true)
    }

    /// Returns the key holder of a request with these headers. Only keys for which `is_open` holds are accepted.
    fn check(&self, headers: &HeaderMap, is_open: impl Fn(&KeyName) -> bool) -> Result<Bearer, ApiError> {
        let sent = match only(headers, &AUTHORIZATION) {
            Only::Absent => return Err(ApiError::KeyMissing),
            Only::Once(sent) if sent.is_empty() => return Err(ApiError::KeyMissing),
            Only::Once(sent) => sent.as_bytes(),
            Only::Repeated => return Err(ApiError::KeyInvalid),
        };
        let (scheme, key) = sent.split_at_checked(SCHEME.len()).ok_or(ApiError::KeyInvalid)?;
        let hash = hash(key.trim_ascii_start());
        let keys = self.0.load();
        // Every open key is compared, so the response time does not reveal which one is close.
        let open = keys.iter().filter(|known| is_open(&known.bearer.name));
        let matching = open
            .filter(|known| known.hash.as_bytes().ct_eq(hash.as_bytes()).into())
            .fold(None, |_, known| Some(known));
        match matching {
            Some(known) if scheme.eq_ignore_ascii_case(SCHEME) => Ok(known.bearer.clone()),
            Some(_) | None => Err(ApiError::KeyInvalid),
        }
    }
}

/// The keys, and the rate limit of wrong ones.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    keys: ManagementKeys,
    attempts: Arc<Mutex<KeyAttempts>>,
}

impl Access {
    pub(crate) fn new(keys: ManagementKeys) -> Self {
        Self { keys, attempts: Arc::new(Mutex::new(KeyAttempts::new())) }
    }

    /// Accepts a request with a valid key, and stores the key holder in it. A client that sent too many wrong keys may
    /// only use keys that it used within the last hour.
    pub(crate) fn check(&self, request: &HttpRequest) -> Result<(), ApiError> {
        let headers = request.headers();
        let Some(client) = Client::behind_request(request) else {
            self.keys.check(headers, |_| true)?.attach(request);
            return Ok(());
        };
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let limited = attempts.check(client, now);
        let is_open = |key: &KeyName| limited.is_ok() || attempts.has_used(client, key, now);
        match self.keys.check(headers, is_open) {
            Ok(bearer) => {
                attempts.record_valid(client, &bearer.name, now);
                bearer.attach(request);
                Ok(())
            }
            Err(error) => {
                limited?;
                if matches!(error, ApiError::KeyInvalid) {
                    attempts.record_wrong(client);
                }
                Err(error)
            }
        }
    }
}

/// Fingerprints of keys, under a secret of this process.
static KNOWN: LazyLock<KnownTokens> = LazyLock::new(|| {
    let state = RandomState::new();
    let half = |number: u8| u128::from(state.hash_one(number));
    KnownTokens::new(&((half(0) << 64) | half(1)).to_le_bytes())
});

fn hash(key: &[u8]) -> TokenHash {
    KNOWN.hash(key)
}

impl fmt::Debug for ManagementKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManagementKeys({})", self.0.load().len())
    }
}

/// A part of the management API. The table of routes assigns each path to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Reporting the bot's data, and watching changes.
    Feed,
    /// Sessions and stored data of users.
    People,
    /// Metrics.
    Metrics,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Feed, Self::People, Self::Metrics];

    /// Returns its name in the configuration and in error messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::People => "people",
            Self::Metrics => "metrics",
        }
    }
}

/// Wrong keys that one client may send within [`WINDOW`].
const MAX_WRONG: u32 = 5;
const WINDOW: Duration = Duration::from_secs(1);
/// How long after its last use a key is still accepted from a rate-limited client.
const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);
/// Maximum number of tracked clients, and of remembered key uses. Further clients share one count.
const MAX_CLIENTS: usize = 10_000;

/// Counts the wrong keys of each client, and remembers the valid keys it sent.
#[derive(Debug)]
struct KeyAttempts {
    /// Start of the current window.
    since: Instant,
    /// Wrong keys in the current window; `None` counts all untracked clients.
    wrong: HashMap<Option<Client>, u32>,
    /// Until when a client may use a key despite its rate limit.
    known: HashMap<(Client, KeyName), Instant>,
}

impl KeyAttempts {
    fn new() -> Self {
        Self { since: Instant::now(), wrong: HashMap::new(), known: HashMap::new() }
    }

    /// Starts a new window if the last has ended. Returns [`ApiError::RateLimited`] for a client that sent too many wrong
    /// keys. Its next key must only be compared with those it [has used](Self::has_used): a response about any other
    /// would confirm a guess.
    fn check(&mut self, client: Client, now: Instant) -> Result<(), ApiError> {
        if now - self.since >= WINDOW {
            self.since = now;
            self.wrong.clear();
        }
        if self.wrong.get(&self.bucket_of(client)).is_some_and(|wrong| *wrong >= MAX_WRONG) {
            return Err(ApiError::RateLimited(WINDOW.saturating_sub(now - self.since)));
        }
        Ok(())
    }

    /// Whether a client used the key of this name within the last hour.
    fn has_used(&self, client: Client, key: &KeyName, now: Instant) -> bool {
        self.known.get(&(client, key.clone())).is_some_and(|until| *until > now)
    }

    /// Counts a wrong key.
    fn record_wrong(&mut self, client: Client) {
        let bucket = self.bucket_of(client);
        *self.wrong.entry(bucket).or_default() += 1;
    }

    /// Remembers the use of a valid key.
    fn record_valid(&mut self, client: Client, key: &KeyName, now: Instant) {
        let use_of_key = (client, key.clone());
        if self.known.len() >= MAX_CLIENTS {
            self.known.retain(|_, until| *until > now);
        }
        if self.known.len() < MAX_CLIENTS || self.known.contains_key(&use_of_key) {
            self.known.insert(use_of_key, now + KNOWN_FOR);
        }
    }

    fn bucket_of(&self, client: Client) -> Option<Client> {
        let tracked = self.wrong.len() < MAX_CLIENTS || self.wrong.contains_key(&Some(client));
        tracked.then_some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{http::header::HeaderValue, test::TestRequest};
    use companion_http::TrustedProxies;
    use std::net::Ipv4Addr;

    fn keys(keys: &[&str]) -> ManagementKeys {
        ManagementKeys::new(&keys.iter().map(|key| Secret::new((*key).into())).collect::<Vec<_>>())
    }

    fn scoped(name: &str, key: &str) -> ScopedKey {
        let scopes = BTreeSet::from([Scope::Feed]);
        ScopedKey { name: name.parse().unwrap(), key: Secret::new(key.into()), scopes }
    }

    fn checked(keys: &ManagementKeys, sent: &[&[u8]]) -> Result<String, &'static str> {
        let mut headers = HeaderMap::new();
        for sent in sent {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(sent).unwrap());
        }
        let checked = keys.check(&headers, |_| true);
        checked.map(|bearer| bearer.name.to_string()).map_err(|error| error.problem().word)
    }

    #[test]
    fn accepts_any_configured_key_only() {
        let keys = keys(&["first", "second", "drítte", ""]);
        for sent in [&b"Bearer first"[..], b"bearer second", b"Bearer  first", "BEARER drítte".as_bytes()] {
            assert_eq!(checked(&keys, &[sent]), Ok("management.key".to_owned()));
        }
        for sent in [&[][..], &[&b""[..]]] {
            assert_eq!(checked(&keys, sent), Err("key_missing"));
        }
        assert_eq!(checked(&keys, &[b"Bearer first", b"Bearer first"]), Err("key_invalid"));
        for sent in [
            &b"Bearer"[..],
            b"Bearer ",
            b"Bearerfirst",
            b"Bearer\tfirst",
            b"first",
            b"Basic first",
            b"Bearer firs",
            b"Bearer first ",
            b"Bearer \xff",
        ] {
            assert_eq!(checked(&keys, &[sent]), Err("key_invalid"), "{sent:?}");
        }
        assert!(ManagementKeys::new(&[]).check(&HeaderMap::new(), |_| true).is_err());
    }

    #[test]
    fn exchanges_a_key_in_every_clone() {
        let keys = keys(&["everything"]).with([scoped("bot", "one"), scoped("other", "two")]);
        let clone = keys.clone();
        let bot = "bot".parse().unwrap();
        assert_eq!(keys.exchange(&bot, &Secret::new("three".into())), Ok(true));
        assert_eq!(keys.exchange(&bot, &Secret::new("three".into())), Ok(false));
        for (sent, found) in [
            ("three", Ok("bot".to_owned())),
            ("one", Err("key_invalid")),
            ("two", Ok("other".to_owned())),
            ("everything", Ok("management.key".to_owned())),
        ] {
            assert_eq!(checked(&clone, &[format!("Bearer {sent}").as_bytes()]), found, "{sent}");
        }
    }

    #[test]
    fn refuses_a_key_of_another_name() {
        let keys = keys(&["everything"]).with([scoped("bot", "one"), scoped("other", "two")]);
        let bot = "bot".parse().unwrap();
        for (key, name) in [("two", "other"), ("everything", "management.key")] {
            assert_eq!(keys.exchange(&bot, &Secret::new(key.into())).unwrap_err().as_str(), name);
        }
        assert_eq!(checked(&keys, &[b"Bearer one"]), Ok("bot".to_owned()));
    }

    fn client(number: u32) -> Client {
        let request = TestRequest::default().peer_addr((Ipv4Addr::from(number), 5000).into());
        Client::of(&request.to_http_request(), &TrustedProxies::new(|_| false)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn untracked_clients_share_one_count() {
        let mut attempts = KeyAttempts::new();
        for number in 0..2 * MAX_CLIENTS as u32 {
            attempts.record_wrong(client(number));
        }
        assert_eq!(attempts.wrong.len(), MAX_CLIENTS + 1);
        assert!(attempts.check(client(0), Instant::now()).is_ok(), "one wrong key is allowed");
        assert!(
            attempts.check(client(u32::MAX), Instant::now()).is_err(),
            "untracked clients share the limit"
        );
        tokio::time::advance(WINDOW).await;
        assert!(attempts.check(client(u32::MAX), Instant::now()).is_ok());
        assert_eq!(attempts.wrong.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn expired_key_uses_make_room() {
        let (mut attempts, key) = (KeyAttempts::new(), KeyName::of_management_key());
        for number in 0..MAX_CLIENTS as u32 + 100 {
            attempts.record_valid(client(number), &key, Instant::now());
        }
        assert_eq!(attempts.known.len(), MAX_CLIENTS);
        tokio::time::advance(KNOWN_FOR).await;
        attempts.record_valid(client(u32::MAX), &key, Instant::now());
        assert_eq!(attempts.known.len(), 1);
    }
}
