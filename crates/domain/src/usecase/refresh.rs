//! Getting newer lists of a user's guilds from the platform.

use super::{
    claim::{CLAIM_LEASE, Claims},
    single_flight::{SingleFlight, timeout},
    token_box,
};
use crate::{
    model::{GuildList, PlatformTokens, Span, UserId},
    port::{
        ClaimAfter, Claimed, Clock, Grant, GrantContent, GrantStore, GrantVersion, IdentityError,
        IdentityErrorKind, IdentityProvider, Scheduler, SignIns, StoreError, StoreErrorKind, Vault,
    },
    session::Session,
};
use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long to back off from a user's list after an attempt that failed, unless the platform names a time.
const BACKOFF: Span = Span::from_seconds(5);
/// A grant whose tokens were refused so often is not tried again: renewing them did not help.
const MAX_REFUSALS: u32 = 2;
/// How long a request waits for an attempt before it falls back to the last list.
const REQUEST_WAIT: Duration = Duration::from_secs(1);
/// How long an attempt waits for another node's: not quite as long, so that the next request starts a new one.
const PEER_WAIT: Duration = Duration::from_millis(900);
/// How often to check whether another node has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// For so many users a back-off is remembered, at least.
const MANY: usize = 10_000;
/// When to retry storing tokens that could not be stored: they exist nowhere else.
const STORE_RETRIES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2)];

/// Refreshes lists, for one caller at a time per user over all nodes.
pub struct RefreshList {
    identity: Arc<dyn IdentityProvider>,
    grants: Arc<dyn GrantStore>,
    sign_ins: Arc<dyn SignIns>,
    vault: Arc<dyn Vault>,
    clock: Arc<dyn Clock>,
    scheduler: Arc<dyn Scheduler>,
    claims: Claims,
    in_flight: SingleFlight<(UserId, GrantVersion), Refreshed>,
    /// The users that this node backs off from. Other nodes may have better luck.
    backoffs: Mutex<Recent<UserId, Backoff, MANY>>,
    counter: RefreshCounter,
    /// Sessions that ended when nobody waited for it any more.
    unheard: Arc<Mutex<Vec<Session>>>,
}

/// An attempt failed, so there is no use in another with the same grant for a while.
struct Backoff {
    version: GrantVersion,
    /// In monotonic time; until the grant changes, where there is none.
    until: Option<Duration>,
    refusals: Refusals,
    error: Arc<IdentityError>,
}

/// How the platform has refused the tokens of a grant.
#[derive(Debug, Clone, Copy, Default)]
struct Refusals {
    /// How often it refused one.
    times: u32,
    /// Whether the one that we have has to be renewed, since asking with it again is of no use.
    needs_renewal: bool,
}

impl Backoff {
    fn is_active(&self, now: Duration) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// Why an attempt brought no list.
enum RefreshError {
    Identity(IdentityError),
    Store(StoreError),
}

impl From<StoreError> for RefreshError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<IdentityError> for RefreshError {
    fn from(error: IdentityError) -> Self {
        Self::Identity(error)
    }
}

impl RefreshList {
    /// Refreshes the lists of these grants. Sessions end with their grant.
    pub fn new(
        identity: Arc<dyn IdentityProvider>,
        grants: Arc<dyn GrantStore>,
        sign_ins: Arc<dyn SignIns>,
        vault: Arc<dyn Vault>,
        clock: Arc<dyn Clock>,
        scheduler: Arc<dyn Scheduler>,
    ) -> Self {
        let claims = Claims::new(Arc::clone(&grants), Arc::clone(&clock));
        let (in_flight, backoffs, unheard) = (SingleFlight::default(), Mutex::default(), Arc::default());
        let counter = RefreshCounter::default();
        Self {
            identity,
            grants,
            sign_ins,
            vault,
            clock,
            scheduler,
            claims,
            in_flight,
            backoffs,
            counter,
            unheard,
        }
    }

    /// How attempts ended.
    #[must_use]
    pub fn counts(&self) -> RefreshCounts {
        self.counter.read()
    }

    /// The sessions that ended with their grant when nobody waited for it any more, since the last time.
    pub(super) fn unheard(&self) -> Vec<Session> {
        take(&self.unheard)
    }

    /// What comes of `work` within the second that a request waits.
    pub(super) async fn within_request<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        timeout(&*self.scheduler, REQUEST_WAIT, work).await
    }

    /// Gets a newer list than that of `grant`. The attempt goes on to its end in the background, whoever waits for it.
    pub(super) async fn refresh(self: &Arc<Self>, user: UserId, grant: Grant) -> Refreshed {
        if let Some(error) = self.recent_failure(user, grant.version) {
            return Refreshed::Failed(error);
        }
        let (refresher, key) = (Arc::clone(self), (user, grant.version));
        let attempt = async move {
            let refreshed = refresher.attempt(user, grant).await;
            refresher.counter.note(&refreshed);
            refreshed
        };
        let refreshed = self.in_flight.join(&*self.scheduler, key, attempt).await;
        refreshed.unwrap_or(Refreshed::Pending)
    }

    async fn attempt(&self, user: UserId, mut grant: Grant) -> Refreshed {
        let version = grant.version;
        match self.claims.claim(user, version).await {
            Ok(Claimed::Granted) => {}
            Ok(Claimed::Held(_)) => return self.wait_for_peer(user, version).await,
            Ok(Claimed::Gone) => return Refreshed::Replaced,
            Err(error) => return Refreshed::StoreFailed(Arc::new(error)),
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
            RefreshError::Store(error) => Refreshed::StoreFailed(Arc::new(error)),
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
            token_box::open(&*self.vault, user, sealed).map_err(StoreError::corrupt)?;
        if reseal {
            grant.content.tokens = Some(token_box::seal(&*self.vault, user, &tokens));
        }
        let mut renewed = false;
        let memberships = loop {
            if refusals.needs_renewal || tokens.expires_at <= self.clock.now() {
                tokens = self.renew(user, grant, &tokens).await?;
                (renewed, refusals.needs_renewal) = (true, false);
            }
            let error = match self.identity.guilds(user, &tokens.access).await {
                Ok(memberships) => break memberships,
                Err(error) => error,
            };
            if error.kind == IdentityErrorKind::TokenRefused {
                // One that is new and refused all the same would not be mended by another.
                *refusals = Refusals { times: refusals.times + 1, needs_renewal: !renewed };
            }
            if !refusals.needs_renewal || refusals.times >= MAX_REFUSALS {
                return Err(error.into());
            }
        };
        let list = GuildList { memberships: memberships.into(), fetched_at: self.clock.now() };
        grant.content.list = Some(list);
        self.grants.update(user, grant.version, &grant.content, ClaimAfter::Released).await?;
        Ok(())
    }

    /// Gets new tokens, and has them stored before anyone uses them.
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
        let mut renewed = self.identity.refresh(user, refresh).await?;
        // A platform that does not rotate refresh tokens sends none: the old one stays.
        renewed.refresh = renewed.refresh.or_else(|| Some(refresh.clone()));
        grant.content.tokens = Some(token_box::seal(&*self.vault, user, &renewed));
        grant.version = self.store(user, grant.version, &grant.content).await?;
        Ok(renewed)
    }

    /// Stores rotated tokens. The old ones are dead by now, so a store that is unavailable is tried again.
    async fn store(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
    ) -> Result<GrantVersion, StoreError> {
        for pause in STORE_RETRIES {
            match self.grants.update(user, version, content, ClaimAfter::Kept).await {
                Err(error) if error.kind == StoreErrorKind::Unavailable => self.scheduler.pause(pause).await,
                settled => return settled,
            }
        }
        self.grants.update(user, version, content, ClaimAfter::Kept).await
    }

    /// Someone holds the claim: waits until the grant is written anew, but not long.
    async fn wait_for_peer(&self, user: UserId, version: GrantVersion) -> Refreshed {
        let written_anew = async {
            loop {
                match self.grants.find(user).await {
                    Ok(Some(grant)) if grant.version == version => self.scheduler.pause(POLL_INTERVAL).await,
                    Ok(_) => return Refreshed::Replaced,
                    Err(error) => return Refreshed::StoreFailed(Arc::new(error)),
                }
            }
        };
        timeout(&*self.scheduler, PEER_WAIT, written_anew).await.unwrap_or(Refreshed::Pending)
    }

    /// Releases the claim, and remembers for a moment that there is no use in asking: a failing platform is not asked
    /// by every request, and a grant that it refuses only until that is certain. A claim that cannot be released
    /// expires.
    async fn back_off(
        &self,
        user: UserId,
        version: GrantVersion,
        refusals: Refusals,
        error: IdentityError,
    ) -> Refreshed {
        let _ = self.grants.release_claim(user, version).await;
        let wait = match error.kind {
            IdentityErrorKind::Limited(wait) => wait.min(CLAIM_LEASE.get()),
            IdentityErrorKind::BadGrant
            | IdentityErrorKind::ScopeMissing
            | IdentityErrorKind::TokenRefused
            | IdentityErrorKind::Unreachable
            | IdentityErrorKind::TimedOut
            | IdentityErrorKind::Failed => BACKOFF.get(),
        };
        let (until, error) = (self.clock.monotonic() + wait, Arc::new(error));
        let mut backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let until = (refusals.times < MAX_REFUSALS).then_some(until);
        backoffs.insert(user, Backoff { version, until, refusals, error: Arc::clone(&error) });
        Refreshed::Failed(error)
    }

    /// What the platform said to the last attempt with this grant, where that was a moment ago.
    fn recent_failure(&self, user: UserId, version: GrantVersion) -> Option<Arc<IdentityError>> {
        let backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let backoff = backoffs.get(&user)?;
        (backoff.version == version && backoff.is_active(self.clock.monotonic()))
            .then(|| Arc::clone(&backoff.error))
    }

    /// What the platform said to the tokens of this grant, as far as this node knows.
    fn refusals(&self, user: UserId, version: GrantVersion) -> Refusals {
        let backoffs = self.backoffs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = backoffs.get(&user).filter(|backoff| backoff.version == version);
        known.map_or_else(Refusals::default, |backoff| backoff.refusals)
    }

    /// The platform refused the grant. If it is still the same one, the sessions that lived on it end; a newer sign-in
    /// has written it anew.
    async fn end_grant(&self, user: UserId, version: GrantVersion) -> Refreshed {
        match self.sign_ins.end(user, version).await {
            Ok(Some(sessions)) => Refreshed::SignedOut(Ended::of(sessions, &self.unheard)),
            Ok(None) => Refreshed::Replaced,
            Err(error) => Refreshed::StoreFailed(Arc::new(error)),
        }
    }
}

/// What came of an attempt to get a newer list.
#[derive(Debug, Clone)]
pub(super) enum Refreshed {
    /// A newer list is stored.
    Stored,
    /// The grant was replaced meanwhile; look again.
    Replaced,
    /// The platform ended the grant, and these sessions with it.
    SignedOut(Ended),
    /// Another node is working on it for longer than a request waits, or the attempt broke off.
    Pending,
    /// The platform failed.
    Failed(Arc<IdentityError>),
    /// The store failed.
    StoreFailed(Arc<StoreError>),
}

/// Sessions that have ended. Of all who waited for the attempt, the first to ask gets them, so that they are audited once. Where
/// nobody waited any more they are kept for whoever asks for those.
#[derive(Debug, Clone)]
pub(super) struct Ended(Arc<Unaudited>);

#[derive(Debug)]
struct Unaudited {
    sessions: Mutex<Vec<Session>>,
    unheard: Arc<Mutex<Vec<Session>>>,
}

impl Ended {
    pub(super) fn of(sessions: Vec<Session>, unheard: &Arc<Mutex<Vec<Session>>>) -> Self {
        Self(Arc::new(Unaudited { sessions: Mutex::new(sessions), unheard: Arc::clone(unheard) }))
    }

    pub(super) fn take(&self) -> Vec<Session> {
        take(&self.0.sessions)
    }
}

impl Drop for Unaudited {
    fn drop(&mut self) {
        let mut untold = take(&self.sessions);
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner).append(&mut untold);
    }
}

pub(super) fn take(sessions: &Mutex<Vec<Session>>) -> Vec<Session> {
    mem::take(&mut sessions.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How many attempts ended in which way since the process began. Each attempt counts once, however many waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefreshCounts {
    /// A newer list was stored.
    pub stored: u64,
    /// Someone else had replaced the grant meanwhile, as another node or a new sign-in does.
    pub replaced: u64,
    /// The platform had ended the grant, and the user was signed out.
    pub signed_out: u64,
    /// Another node was still working on it.
    pub pending: u64,
    /// The platform was limiting us.
    pub limited: u64,
    /// The platform failed in another way.
    pub failed: u64,
    /// The store failed.
    pub store_failed: u64,
}

#[derive(Debug, Default)]
pub(super) struct RefreshCounter(Mutex<RefreshCounts>);

impl RefreshCounter {
    pub(super) fn note(&self, refreshed: &Refreshed) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = &mut *counts;
        *match refreshed {
            Refreshed::Stored => &mut counts.stored,
            Refreshed::Replaced => &mut counts.replaced,
            Refreshed::SignedOut(_) => &mut counts.signed_out,
            Refreshed::Pending => &mut counts.pending,
            Refreshed::Failed(error) if matches!(error.kind, IdentityErrorKind::Limited(_)) => {
                &mut counts.limited
            }
            Refreshed::Failed(_) => &mut counts.failed,
            Refreshed::StoreFailed(_) => &mut counts.store_failed,
        } += 1;
    }

    pub(super) fn read(&self) -> RefreshCounts {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the newest `SIZE` entries for certain, and some older ones: two generations, of which the older goes whole when
/// the younger is full. So an entry costs the same however many there are.
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
    /// Inserts an entry, in place of an earlier one with the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= SIZE && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// The value of this key, where it is still remembered.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.young.get(key).or_else(|| self.old.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_and_there_are_never_more_than_twice_as_many() {
        let mut recent = Recent::<u32, u32, 100>::default();
        for number in 0..10_000 {
            recent.insert(number, number * 2);
            assert!(recent.young.len() <= 100 && recent.old.len() <= 100);
            for remembered in number.saturating_sub(99)..=number {
                assert_eq!(recent.get(&remembered), Some(&(remembered * 2)));
            }
        }
        assert_eq!(recent.get(&9_000), None);
    }

    #[test]
    fn what_is_remembered_again_is_new_again_and_counts_once() {
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
