//! Listing a user's guilds, from a list that is kept fresh.

use super::token_box;
use crate::{
    model::{GuildList, Membership, PlatformTokens, Span, Timestamp, UserId},
    port::{
        BlockList, ClaimAfter, Clock, Grant, GrantContent, GrantStore, GrantVersion, GuildDirectory,
        IdentityError, IdentityErrorKind, IdentityProvider, SessionStore, StaffDirectory, StoreError,
        StoreErrorKind, SubscriptionStore, Vault,
    },
    rules::{self, GuildFacts, ListedGuild, UserFacts},
};
use std::{sync::Arc, time::Duration};

/// How long one attempt to refresh keeps others from trying: as long as the attempt may take, and then a little, so
/// that a failing platform is not asked by every request.
const CLAIM: Span = Span::from_seconds(10);

/// How old a list may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// A list older than this is fetched again.
    pub refresh_after: Span,
    /// A list that could not be fetched again is served until it is this old.
    pub stale_for: Span,
}

/// What a user is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuildListing {
    /// The guilds, in order.
    pub guilds: Vec<ListedGuild>,
    /// How old the platform's list behind it is.
    pub age: Duration,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum ListGuildsError {
    /// The user is blocked.
    #[error("user {0} is blocked")]
    Blocked(UserId),
    /// The platform ended what it had granted: the user has to sign in again.
    #[error("the platform ended the grant")]
    SignedOut,
    /// There is no list, or only one that is too old, and the platform gives no new one.
    #[error(transparent)]
    Identity(IdentityError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lists users' guilds.
pub struct ListGuilds {
    /// The platform.
    pub identity: Arc<dyn IdentityProvider>,
    /// Grants, with the last lists.
    pub grants: Arc<dyn GrantStore>,
    /// Sessions, which end with the grant.
    pub sessions: Arc<dyn SessionStore>,
    /// Opens the tokens.
    pub vault: Arc<dyn Vault>,
    /// Guilds that have the bot.
    pub guilds: Arc<dyn GuildDirectory>,
    /// Premium subscriptions.
    pub subscriptions: Arc<dyn SubscriptionStore>,
    /// Grants by name.
    pub staff: Arc<dyn StaffDirectory>,
    /// Who may not.
    pub blocked: Arc<dyn BlockList>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How old a list may be.
    pub freshness: Freshness,
}

/// What came of an attempt to get a newer list.
enum Refreshed {
    List(GuildList),
    /// Someone else is at it, or was just now.
    Claimed,
    /// The grant was replaced meanwhile; look again.
    Replaced,
}

impl ListGuilds {
    /// The guilds of a user that have the bot and that the user has a role in.
    pub async fn list(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        if self.blocked.is_blocked(user).await? {
            return Err(ListGuildsError::Blocked(user));
        }
        let list = self.current_list(user).await?;
        let guilds = self.assemble(user, &list.memberships).await?;
        Ok(GuildListing { guilds, age: self.clock.now().since(list.fetched_at) })
    }

    async fn assemble(
        &self,
        user: UserId,
        memberships: &[Membership],
    ) -> Result<Vec<ListedGuild>, StoreError> {
        let ids: Vec<_> = memberships.iter().map(|membership| membership.guild).collect();
        let seen = self.guilds.seen_by(user, &ids).await?;
        let present: Vec<_> = seen.iter().map(|seen| seen.guild.id).collect();
        let naming = self.subscriptions.naming(&present).await?;
        let facts = UserFacts {
            subscription: self.subscriptions.of_user(user).await?,
            staff: self.staff.grants(user).await?.unwrap_or_default(),
        };
        let guilds = seen.into_iter().map(|seen| {
            let plus = rules::plus_of(seen.guild.id, &naming);
            GuildFacts { guild: seen.guild, roles: seen.roles, plus }
        });
        Ok(rules::list_guilds(&facts, memberships, guilds.collect()))
    }

    /// The list to show: fresh where it can be, the last one where it must be.
    async fn current_list(&self, user: UserId) -> Result<GuildList, ListGuildsError> {
        // A grant that is replaced while it is refreshed is looked at once more; a second time is left to the caller.
        for _ in 0..2 {
            let grant = self.grants.find(user).await?.ok_or(ListGuildsError::SignedOut)?;
            let age = grant.content.list.as_ref().map(|list| self.clock.now().since(list.fetched_at));
            match (&grant.content.tokens, &grant.content.list) {
                (_, Some(list)) if age < Some(self.freshness.refresh_after.get()) => return Ok(list.clone()),
                // Without tokens the list is as old as the sign-in, and that is what was chosen.
                (None, Some(list)) => return Ok(list.clone()),
                (None, None) => return Err(ListGuildsError::SignedOut),
                (Some(_), _) => {}
            }
            let failure = match self.refresh(user, &grant).await {
                Ok(Refreshed::List(list)) => return Ok(list),
                Ok(Refreshed::Replaced) => continue,
                Ok(Refreshed::Claimed) => limited("another request is refreshing the list"),
                Err(ListGuildsError::Identity(error)) => error,
                Err(other) => return Err(other),
            };
            return match grant.content.list {
                Some(list) if age < Some(self.freshness.stale_for.get()) => Ok(list),
                Some(_) | None => Err(ListGuildsError::Identity(failure)),
            };
        }
        Err(ListGuildsError::Identity(limited("the grant keeps changing")))
    }

    async fn refresh(&self, user: UserId, grant: &Grant) -> Result<Refreshed, ListGuildsError> {
        let now = self.clock.now();
        let claimed = self.grants.claim_refresh(user, grant.version, now, now.after(CLAIM.get())).await?;
        if !claimed {
            return Ok(Refreshed::Claimed);
        }
        // On failure the claim is left to run out: until then the last list is served without asking again.
        match self.fetch(user, grant).await {
            Err(ListGuildsError::Store(error)) if error.kind == StoreErrorKind::Conflict => {
                Ok(Refreshed::Replaced)
            }
            Err(ListGuildsError::Identity(error)) if error.kind == IdentityErrorKind::BadGrant => {
                self.end_grant(user, grant.version, now).await
            }
            other => other.map(Refreshed::List),
        }
    }

    async fn fetch(&self, user: UserId, grant: &Grant) -> Result<GuildList, ListGuildsError> {
        let Some(sealed) = &grant.content.tokens else {
            return Err(ListGuildsError::SignedOut);
        };
        let (mut tokens, reseal) =
            token_box::open(&*self.vault, user, sealed).map_err(StoreError::corrupt)?;
        let mut grant = grant.clone();
        if reseal {
            grant.content.tokens = Some(token_box::seal(&*self.vault, user, &tokens));
        }
        let mut renewed = false;
        if tokens.expires_at <= self.clock.now() {
            tokens = self.renew(user, &mut grant, &tokens).await?;
            renewed = true;
        }
        let memberships = match self.identity.guilds(&tokens.access).await {
            Err(error) if error.kind == IdentityErrorKind::TokenRefused && !renewed => {
                tokens = self.renew(user, &mut grant, &tokens).await?;
                self.identity.guilds(&tokens.access).await
            }
            other => other,
        };
        let memberships = memberships.map_err(ListGuildsError::Identity)?;
        let list = GuildList { memberships: memberships.into(), fetched_at: self.clock.now() };
        let content = GrantContent { list: Some(list.clone()), ..grant.content };
        self.grants.update(user, grant.version, &content, ClaimAfter::Released).await?;
        Ok(list)
    }

    /// Gets new tokens, and has them stored before anyone uses them.
    async fn renew(
        &self,
        user: UserId,
        grant: &mut Grant,
        tokens: &PlatformTokens,
    ) -> Result<PlatformTokens, ListGuildsError> {
        let refresh = tokens.refresh.as_ref().ok_or_else(|| {
            ListGuildsError::Identity(IdentityError::new(
                IdentityErrorKind::BadGrant,
                "there is no refresh token",
            ))
        })?;
        let mut renewed = self.identity.refresh(refresh).await.map_err(ListGuildsError::Identity)?;
        // A platform that does not rotate refresh tokens sends none: the old one stays.
        renewed.refresh = renewed.refresh.or_else(|| Some(refresh.clone()));
        grant.content.tokens = Some(token_box::seal(&*self.vault, user, &renewed));
        grant.version = self.grants.update(user, grant.version, &grant.content, ClaimAfter::Kept).await?;
        Ok(renewed)
    }

    /// The platform refused the grant. If it is still the same one, the sessions that lived on it end; one that was
    /// made after the question was asked belongs to a newer sign-in, and stays.
    async fn end_grant(
        &self,
        user: UserId,
        version: GrantVersion,
        asked_at: Timestamp,
    ) -> Result<Refreshed, ListGuildsError> {
        if !self.grants.remove(user, version).await? {
            return Ok(Refreshed::Replaced);
        }
        for session in self.sessions.of_user(user).await? {
            if session.created_at <= asked_at {
                self.sessions.revoke(&session.id).await?;
            }
        }
        Err(ListGuildsError::SignedOut)
    }
}

fn limited(why: &'static str) -> IdentityError {
    IdentityError::new(IdentityErrorKind::Limited(Duration::from_secs(1)), why)
}
