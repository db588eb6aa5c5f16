//! Refreshing the lists of users' guilds from the platform.

use super::{
    claim::{CLAIM_LEASE, Claims},
    single_flight::{SingleFlight, timeout},
    token_box,
};
use crate::{
    model::{GuildId, GuildList, Membership, PlatformGuilds, PlatformTokens, Span, Timestamp, UserId},
    named::named,
    port::{
        ClaimAfter, Claimed, Grant, GrantContent, GrantVersion, GuildDirectory, IdentityError,
        IdentityErrorKind, Ports, StoreError, StoreErrorKind,
    },
    session::Session,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long to back off from a user's list after a failed attempt, unless the platform names a time.
const BACKOFF: Span = Span::from_seconds(5);
/// Number of rejections after which the tokens of a grant are not tried again: renewing them did not help.
const MAX_REFUSALS: u32 = 2;
/// How long a request waits for an attempt before it falls back to the last list.
const REQUEST_WAIT: Duration = Duration::from_secs(1);
/// How long an attempt waits for another node: slightly less than a request, so that the next request starts a new one.
const PEER_WAIT: Duration = Duration::from_millis(900);
/// How often to check whether another node has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of users whose back-off is remembered, at least.
const TRACKED_BACKOFFS: usize = 10_000;
/// When to retry storing new tokens, which exist nowhere else.
const STORE_RETRIES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// Refreshes lists, one attempt at a time per user over all nodes.
pub struct RefreshList {
    ports: Ports,
    claims: Claims,
    in_flight: SingleFlight<(UserId, GrantVersion), Refreshed>,
    /// Users that this node backs off from. Other nodes may still succeed.
    backoffs: Mutex<Recent<UserId, Backoff, TRACKED_BACKOFFS>>,
    counts: Mutex<BTreeMap<RefreshOutcome, u64>>,
    /// Sessions that ended with their grant, not yet in the audit log.
    unaudited: Mutex<Vec<Session>>,
}

/// A failed attempt, after which another with the same grant is pointless for a while.
struct Backoff {
    version: GrantVersion,
    /// In monotonic time. `None` means until the grant changes.
    until: Option<Duration>,
    refusals: Refusals,
    error: IdentityError,
}

/// Rejections of a grant's tokens by the platform.
#[derive(Debug, Clone, Copy, Default)]
struct Refusals {
    /// Number of rejections.
    times: u32,
    /// Whether the current token must be renewed, since it would be rejected again.
    needs_renewal: bool,
}

/// Why an attempt returned no list.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum RefreshError {
    Identity(#[from] IdentityError),
    Store(#[from] StoreError),
}

/// Returns the list that is stored of fetched guilds. Of their names it keeps only those that the user needs to invite the
/// bot, and none if the guilds that have it cannot be read: no sign-in fails for names.
pub(super) async fn list_to_store(
    directory: &dyn GuildDirectory,
    user: UserId,
    fetched: PlatformGuilds,
    fetched_at: Timestamp,
) -> GuildList {
    let PlatformGuilds { memberships, names: mut without_bot } = fetched;
    let is_managed = |membership: &&_| Membership::is_managed(membership);
    let managed: HashSet<_> = memberships.iter().filter(is_managed).map(|managed| managed.guild).collect();
    without_bot.retain(|named| managed.contains(&named.guild));
    if !without_bot.is_empty() {
        let asked: Vec<GuildId> = without_bot.iter().map(|named| named.guild).collect();
        match directory.with_roles(user, &asked).await {
            Ok(with_bot) => {
                let with_bot: HashSet<_> = with_bot.iter().map(|seen| seen.guild.id).collect();
                without_bot.retain(|named| !with_bot.contains(&named.guild));
                without_bot.truncate(GuildList::MAX_WITHOUT_BOT);
            }
            Err(_) => without_bot.clear(),
        }
    }
    GuildList { memberships: memberships.into(), without_bot, fetched_at }
}

impl RefreshList {
    /// Creates the use case over these ports.
    #[must_use]
    pub fn new(ports: &Ports) -> Self {
        Self {
            claims: Claims::new(Arc::clone(&ports.stores.grants), Arc::clone(&ports.clock)),
            ports: ports.clone(),
            in_flight: SingleFlight::default(),
            backoffs: Mutex::default(),
            counts: Mutex::default(),
            unaudited: Mutex::default(),
        }
    }

    /// Returns the number of attempts by outcome since the process started. An attempt counts once, however many requests
    /// wait for it.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); RefreshOutcome::ALL.len()] {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        RefreshOutcome::ALL
            .map(|outcome| (outcome.as_str(), counts.get(&outcome).copied().unwrap_or_default()))
    }

    /// Returns the sessions of a user, or of all users, that ended with their grant. The first call gets them, so that
    /// each is audited once.
    pub(super) fn take_unaudited(&self, user: Option<UserId>) -> Vec<Session> {
        let mut unaudited = self.unaudited.lock().unwrap_or_else(PoisonError::into_inner);
        unaudited.extract_if(.., |session| user.is_none_or(|user| session.user == user)).collect()
    }

    /// Returns the outcome of `work`, or `None` after the second that a request waits.
    pub(super) async fn within_request<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        timeout(&*self.ports.scheduler, REQUEST_WAIT, work).await
    }

    /// Refreshes the list of `grant`. The attempt runs to its end in the background, even if the caller is cancelled.
    pub(super) async fn refresh(self: &Arc<Self>, user: UserId, grant: Grant) -> Refreshed {
        if let Some(error) = self.recent_failure(user, grant.version) {
            return Refreshed::Failed(error);
        }
        let (refresher, key) = (Arc::clone(self), (user, grant.version));
        let attempt = async move {
            let refreshed = refresher.attempt(user, grant).await;
            let mut counts = refresher.counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(refreshed.outcome()).or_default() += 1;
            refreshed
        };
        let refreshed = self.in_flight.join(&*self.ports.scheduler, key, attempt).await;
        refreshed.unwrap_or(Refreshed::Pending)
    }

    async fn attempt(&self, user: UserId, mut grant: Grant) -> Refreshed {
        let version = grant.version;
        match self.claims.claim(user, version).await {
            Ok(Claimed::Granted) => {}
            Ok(Claimed::Held(_)) => return self.wait_for_peer(user, version).await,
            Ok(Claimed::Gone) => return Refreshed::Replaced,
            Err(error) => return Refreshed::StoreFailed(error),
        }
        let mut refusals = self.refusals(user, version);
        let error = match self.fetch(user, &mut grant, &mut refusals).await {
            Ok(()) => return Refreshed::Stored,
            Err(error) => error,
        };
        match error {
            RefreshError::Identity(error) if error.kind == IdentityErrorKind::BadGrant => {
                self.end_grant(user, version).await
            }
            RefreshError::Identity(error) => self.back_off(user, grant.version, refusals, error).await,
            RefreshError::Store(error) if error.kind == StoreErrorKind::Conflict => Refreshed::Replaced,
            RefreshError::Store(error) => Refreshed::StoreFailed(error),
        }
    }

    async fn fetch(
        &self,
        user: UserId,
        grant: &mut Grant,
        refusals: &mut Refusals,
    ) -> Result<(), RefreshError> {
        let Some(sealed) = &grant.content.tokens else {
            return Err(StoreError::corrupt("a grant without tokens cannot be refreshed").into());
        };
        let (mut tokens, reseal) =
            token_box::open(&*self.ports.vault, user, sealed).map_err(StoreError::corrupt)?;
        if reseal {
            grant.content.tokens = Some(token_box::seal(&*self.ports.vault, user, &tokens));
        }
        let mut renewed = false;
        let fetched = loop {
            if refusals.needs_renewal || tokens.expires_at <= self.ports.clock.now() {
                tokens = self.renew(user, grant, &tokens).await?;
                (renewed, refusals.needs_renewal) = (true, false);
            }
            let error = match self.ports.identity.guilds(user, &tokens.access).await {
                Ok(fetched) => break fetched,
                Err(error) => error,
            };
            if error.kind == IdentityErrorKind::TokenRefused {
                // A new token that is rejected would not be fixed by another one.
                *refusals = Refusals { times: refusals.times + 1, needs_renewal: !renewed };
            }
            if !refusals.needs_renewal || refusals.times >= MAX_REFUSALS {
                return Err(error.into());
            }
        };
        let fetched_at = self.ports.clock.now();
        grant.content.list = Some(list_to_store(&*self.ports.stores.guilds, user, fetched, fetched_at).await);
        self.ports.stores.grants.update(user, grant.version, &grant.content, ClaimAfter::Released).await?;
        Ok(())
    }

    /// Obtains new tokens, and stores them before they are used.
    async fn renew(
        &self,
        user: UserId,
        grant: &mut Grant,
        tokens: &PlatformTokens,
    ) -> Result<PlatformTokens, RefreshError> {
        let refresh = tokens
            .refresh
            .as_ref()
            .ok_or_else(|| IdentityError::new(IdentityErrorKind::BadGrant, "there is no refresh token"))?;
        let mut renewed = self.ports.identity.refresh(user, refresh).await?;
        // A platform that does not rotate refresh tokens returns none: the old one stays valid.
        renewed.refresh = renewed.refresh.or_else(|| Some(refresh.clone()));
        grant.content.tokens = Some(token_box::seal(&*self.ports.vault, user, &renewed));
        grant.version = self.store(user, grant.version, &grant.content).await?;
        Ok(renewed)
    }

    /// Stores rotated tokens. The old ones are invalid by now, so an unavailable store is retried.
    async fn store(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
    ) -> Result<GrantVersion, StoreError> {
        for pause in STORE_RETRIES {
            match self.ports.stores.grants.update(user, version, content, ClaimAfter::Kept).await {
                Err(error) if error.kind == StoreErrorKind::Unavailable => {
                    self.ports.scheduler.pause(pause).await;
                }
                settled => return settled,
            }
        }
        self.ports.stores.grants.update(user, version, content, ClaimAfter::Kept).await
    }

    /// Waits a limited time until the holder of the claim has written the grant.
    async fn wait_for_peer(&self, user: UserId, version: GrantVersion) -> Refreshed {
        let written_anew = async {
            loop {
                match self.ports.stores.grants.find(user).await {
                    Ok(Some(grant)) if grant.version == version => {
                        self.ports.scheduler.pause(POLL_INTERVAL).await;
                    }
                    Ok(_) => return Refreshed::Replaced,
                    Err(error) => return Refreshed::StoreFailed(error),
                }
            }
        };
        timeout(&*self.ports.scheduler, PEER_WAIT, written_anew).await.unwrap_or(Refreshed::Pending)
    }

    /// Releases the claim and remembers the failure for a while, so that a failing platform is not called by every
    /// request, and a grant it rejects only until that is certain. A claim that cannot be released expires.
    async fn back_off(
        &self,
        user: UserId,
        version: GrantVersion,
        refusals: Refusals,
        error: IdentityError,
    ) -> Refreshed {
        let _ = self.ports.stores.grants.release_claim(user, version).await;
        let wait = error.kind.retry_after().map_or(BACKOFF.get(), |wait| wait.min(CLAIM_LEASE.get()));
        let until = self.ports.clock.monotonic() + wait;
        let mut backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let until = (refusals.times < MAX_REFUSALS).then_some(until);
        backoffs.insert(user, Backoff { version, until, refusals, error: error.clone() });
        Refreshed::Failed(error)
    }

    /// Returns the platform's error for the last attempt with this grant, while the back-off lasts.
    fn recent_failure(&self, user: UserId, version: GrantVersion) -> Option<IdentityError> {
        let backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let backoff = backoffs.get(&user).filter(|backoff| backoff.version == version)?;
        let is_active = backoff.until.is_none_or(|until| until > self.ports.clock.monotonic());
        is_active.then(|| backoff.error.clone())
    }

    /// Returns the known rejections of this grant's tokens on this node.
    fn refusals(&self, user: UserId, version: GrantVersion) -> Refusals {
        let backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = backoffs.get(&user).filter(|backoff| backoff.version == version);
        known.map_or_else(Refusals::default, |backoff| backoff.refusals)
    }

    /// Ends the sessions of a grant that the platform rejected. If a newer sign-in has replaced the grant, they stay.
    async fn end_grant(&self, user: UserId, version: GrantVersion) -> Refreshed {
        match self.ports.stores.sign_ins.end(user, version).await {
            Ok(Some(sessions)) => {
                self.unaudited.lock().unwrap_or_else(PoisonError::into_inner).extend(sessions);
                Refreshed::SignedOut
            }
            Ok(None) => Refreshed::Replaced,
            Err(error) => Refreshed::StoreFailed(error),
        }
    }
}

/// The outcome of an attempt to refresh a list.
#[derive(Debug, Clone)]
pub(super) enum Refreshed {
    /// A newer list is stored.
    Stored,
    /// The grant was replaced meanwhile; read it again.
    Replaced,
    /// The platform ended the grant, and the user's sessions with it.
    SignedOut,
    /// Another node is still working on it, or the attempt was aborted.
    Pending,
    /// The platform failed.
    Failed(IdentityError),
    /// The store failed.
    StoreFailed(StoreError),
}

impl Refreshed {
    const fn outcome(&self) -> RefreshOutcome {
        match self {
            Self::Stored => RefreshOutcome::Stored,
            Self::Replaced => RefreshOutcome::Replaced,
            Self::SignedOut => RefreshOutcome::SignedOut,
            Self::Pending => RefreshOutcome::Pending,
            Self::Failed(error) if error.kind.retry_after().is_some() => RefreshOutcome::Limited,
            Self::Failed(_) => RefreshOutcome::Failed,
            Self::StoreFailed(_) => RefreshOutcome::StoreFailed,
        }
    }
}

named! {
    /// The outcome of an attempt, as it is counted.
    RefreshOutcome {
        /// A newer list was stored.
        Stored = "stored",
        /// Another node or a new sign-in replaced the grant meanwhile.
        Replaced = "replaced",
        /// The platform had ended the grant, and the user was signed out.
        SignedOut = "signed_out",
        /// Another node was still working on it.
        Pending = "pending",
        /// Rate-limited.
        Limited = "limited",
        /// The platform failed in another way.
        Failed = "failed",
        /// The store failed.
        StoreFailed = "store_failed",
    }
}

/// Keeps at least the newest `SIZE` entries. Two generations: when the younger is full, the older one is dropped as a
/// whole. So an insertion costs the same however many entries there are.
pub(super) struct Recent<K, V, const SIZE: usize> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V, const SIZE: usize> Default for Recent<K, V, SIZE> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V, const SIZE: usize> Recent<K, V, SIZE> {
    /// Inserts an entry, replacing one with the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= SIZE && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// Returns the value of this key, if it is still kept.
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_entries_and_at_most_twice_as_many() {
        let mut recent = Recent::<u32, u32, 100>::default();
        for number in 0..1_000 {
            recent.insert(number, number * 2);
            assert!(recent.young.len() <= 100 && recent.old.len() <= 100);
            for remembered in number.saturating_sub(99)..=number {
                assert_eq!(recent.get(&remembered), Some(&(remembered * 2)));
            }
        }
        assert_eq!(recent.get(&700), None);
    }

    #[test]
    fn reinserting_an_entry_renews_it() {
        let mut recent = Recent::<u32, char, 2>::default();
        for value in ['a', 'b', 'c', 'd', 'e'] {
            recent.insert(1, value);
        }
        recent.insert(2, 'x');
        recent.insert(3, 'y');
        recent.insert(1, 'f');
        recent.insert(4, 'z');
        assert_eq!(
            [1, 2, 3, 4].map(|key| recent.get(&key).copied()),
            [Some('f'), None, Some('y'), Some('z')]
        );
    }
}
