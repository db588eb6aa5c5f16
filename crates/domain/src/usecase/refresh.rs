//! Getting a newer list of a user's guilds from the platform.

use super::{
    claim::{CLAIM, Claims},
    in_flight::{InFlight, within},
    recent::Recent,
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
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// How long a user's list is left alone after an attempt that failed, unless the platform names a time.
const HOLD_OFF: Span = Span::from_seconds(5);
/// A grant whose tokens were refused so often is not tried again: renewing them did not help.
const REFUSALS: u32 = 2;
/// How long a request waits for an attempt before it makes do with the last list.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an attempt waits for that of another node: not quite as long, so that whoever asks next starts anew.
const PATIENCE_WITH_ANOTHER: Duration = Duration::from_millis(900);
/// How often it is looked whether another node has finished what it is at.
const LOOK: Duration = Duration::from_millis(50);
/// So many users are left alone at once, at least.
const MANY: usize = 10_000;
/// When tokens that cannot be stored are tried to be stored again: they exist nowhere else.
const STORE_AGAIN: [Duration; 3] =
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
    in_flight: InFlight<(UserId, GrantVersion), Refreshed>,
    /// Whom this node leaves alone. Other nodes may have better luck.
    left_alone: Mutex<Recent<UserId, LeftAlone, MANY>>,
}

/// An attempt failed, so there is no use in another with the same grant for a while.
struct LeftAlone {
    version: GrantVersion,
    /// In monotonic time; until the grant changes, where there is none.
    until: Option<Duration>,
    refused: Refused,
    error: Arc<IdentityError>,
}

/// What the platform said to the tokens of a grant.
#[derive(Debug, Clone, Copy, Default)]
struct Refused {
    /// How often it refused one.
    times: u32,
    /// Whether the one that we have has to be renewed, since asking with it again is of no use.
    is_dead: bool,
}

impl LeftAlone {
    fn holds(&self, now: Duration) -> bool {
        self.until.is_none_or(|until| until > now)
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
    /// Another node is at it, for longer than a request waits; or the attempt broke off.
    UnderWay,
    /// The platform failed.
    Failed(Arc<IdentityError>),
    /// The store failed.
    StoreFailed(Arc<StoreError>),
}

/// Sessions that have ended, for whoever asks first: of all who waited one tells of it.
#[derive(Debug, Clone)]
pub(super) struct Ended(Arc<Mutex<Vec<Session>>>);

impl Ended {
    fn of(sessions: Vec<Session>) -> Self {
        Self(Arc::new(Mutex::new(sessions)))
    }

    pub(super) fn take(&self) -> Vec<Session> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
        let (in_flight, left_alone) = (InFlight::default(), Mutex::default());
        Self { identity, grants, sign_ins, vault, clock, scheduler, claims, in_flight, left_alone }
    }

    /// What comes of `wish` within the second that a request waits.
    pub(super) async fn patiently<T>(&self, wish: impl Future<Output = T>) -> Option<T> {
        within(&*self.scheduler, PATIENCE, wish).await
    }

    /// Gets a newer list than that of `grant`. The attempt goes on to its end in the background, whoever waits for it.
    pub(super) async fn refresh(self: &Arc<Self>, user: UserId, grant: Grant) -> Refreshed {
        if let Some(error) = self.just_failed(user, grant.version) {
            return Refreshed::Failed(error);
        }
        let (refresher, key) = (Arc::clone(self), (user, grant.version));
        let attempt = async move { refresher.attempt(user, grant).await };
        let refreshed = self.in_flight.join(&*self.scheduler, key, attempt).await;
        refreshed.unwrap_or(Refreshed::UnderWay)
    }

    async fn attempt(&self, user: UserId, mut grant: Grant) -> Refreshed {
        let version = grant.version;
        match self.claims.claim(user, version).await {
            Ok(Claimed::Granted) => {}
            Ok(Claimed::Held(_)) => return self.wait_for_another(user, version).await,
            Ok(Claimed::Gone) => return Refreshed::Replaced,
            Err(error) => return Refreshed::StoreFailed(Arc::new(error)),
        }
        let mut refused = self.refused(user, version);
        let error = match self.fetch(user, &mut grant, &mut refused).await {
            Ok(()) => return Refreshed::Stored,
            Err(error) => error,
        };
        match error {
            RefreshError::Identity(error) if error.kind == IdentityErrorKind::BadGrant => {
                self.end_grant(user, version).await
            }
            RefreshError::Identity(error) => self.leave_alone(user, grant.version, refused, error).await,
            RefreshError::Store(error) if error.kind == StoreErrorKind::Conflict => Refreshed::Replaced,
            RefreshError::Store(error) => Refreshed::StoreFailed(Arc::new(error)),
        }
    }

    async fn fetch(
        &self,
        user: UserId,
        grant: &mut Grant,
        refused: &mut Refused,
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
            if refused.is_dead || tokens.expires_at <= self.clock.now() {
                tokens = self.renew(user, grant, &tokens).await?;
                (renewed, refused.is_dead) = (true, false);
            }
            let error = match self.identity.guilds(user, &tokens.access).await {
                Ok(memberships) => break memberships,
                Err(error) => error,
            };
            if error.kind == IdentityErrorKind::TokenRefused {
                // One that is new and refused all the same would not be mended by another.
                *refused = Refused { times: refused.times + 1, is_dead: !renewed };
            }
            if !refused.is_dead || refused.times >= REFUSALS {
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

    /// Stores rotated tokens. The old ones are dead by now, so a store that stumbles is given time to get up.
    async fn store(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
    ) -> Result<GrantVersion, StoreError> {
        for pause in STORE_AGAIN {
            match self.grants.update(user, version, content, ClaimAfter::Kept).await {
                Err(error) if error.kind == StoreErrorKind::Unavailable => self.scheduler.pause(pause).await,
                settled => return settled,
            }
        }
        self.grants.update(user, version, content, ClaimAfter::Kept).await
    }

    /// Someone holds the claim: waits until the grant is written anew, but not long.
    async fn wait_for_another(&self, user: UserId, version: GrantVersion) -> Refreshed {
        let written_anew = async {
            loop {
                match self.grants.find(user).await {
                    Ok(Some(grant)) if grant.version == version => self.scheduler.pause(LOOK).await,
                    Ok(_) => return Refreshed::Replaced,
                    Err(error) => return Refreshed::StoreFailed(Arc::new(error)),
                }
            }
        };
        within(&*self.scheduler, PATIENCE_WITH_ANOTHER, written_anew).await.unwrap_or(Refreshed::UnderWay)
    }

    /// Lets go of the claim, and remembers for a moment that there is no use in asking: a failing platform is not asked
    /// by every request, and a grant that it refuses only until that is certain. A claim that cannot be let go runs out by
    /// itself.
    async fn leave_alone(
        &self,
        user: UserId,
        version: GrantVersion,
        refused: Refused,
        error: IdentityError,
    ) -> Refreshed {
        let _ = self.grants.release_claim(user, version).await;
        let rest = match error.kind {
            IdentityErrorKind::Limited(wait) => wait.min(CLAIM.get()),
            IdentityErrorKind::BadGrant
            | IdentityErrorKind::ScopeMissing
            | IdentityErrorKind::TokenRefused
            | IdentityErrorKind::Unreachable
            | IdentityErrorKind::TimedOut
            | IdentityErrorKind::Failed => HOLD_OFF.get(),
        };
        let (until, error) = (self.clock.monotonic() + rest, Arc::new(error));
        let mut left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        let until = (refused.times < REFUSALS).then_some(until);
        left_alone.insert(user, LeftAlone { version, until, refused, error: Arc::clone(&error) });
        Refreshed::Failed(error)
    }

    /// What the platform said to the last attempt with this grant, where that was a moment ago.
    fn just_failed(&self, user: UserId, version: GrantVersion) -> Option<Arc<IdentityError>> {
        let left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        let left = left_alone.get(&user)?;
        (left.version == version && left.holds(self.clock.monotonic())).then(|| Arc::clone(&left.error))
    }

    /// What the platform said to the tokens of this grant, as far as this node knows.
    fn refused(&self, user: UserId, version: GrantVersion) -> Refused {
        let left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        let known = left_alone.get(&user).filter(|left| left.version == version);
        known.map_or_else(Refused::default, |left| left.refused)
    }

    /// The platform refused the grant. If it is still the same one, the sessions that lived on it end; a newer sign-in
    /// has written it anew.
    async fn end_grant(&self, user: UserId, version: GrantVersion) -> Refreshed {
        match self.sign_ins.end(user, version).await {
            Ok(Some(sessions)) => Refreshed::SignedOut(Ended::of(sessions)),
            Ok(None) => Refreshed::Replaced,
            Err(error) => Refreshed::StoreFailed(Arc::new(error)),
        }
    }
}
