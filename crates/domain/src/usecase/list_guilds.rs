//! Listing a user's guilds, from a list that is kept fresh.

use super::refresh::{RefreshList, Refreshed};
use crate::{
    model::{GuildList, Membership, Span, UserId},
    port::{
        BlockList, Cause, Clock, Grant, GrantContent, GrantStore, GuildDirectory, IdentityError,
        IdentityErrorKind, SignIns, StaffDirectory, StoreError, SubscriptionStore,
    },
    rules::{self, GuildFacts, ListedGuild, UserFacts},
    session::Session,
};
use std::{sync::Arc, time::Duration};

/// When it is worth asking again for a list that nobody could get.
const TRY_AGAIN: Duration = Duration::from_secs(1);

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
    /// The platform ended what it had granted: the user has to sign in again. These sessions ended with it, told to one
    /// of all who waited for it.
    #[error("the platform ended the grant")]
    SignedOut(Vec<Session>),
    /// Nothing is left that the user's sessions could live on, as after a crash: the user has to sign in again. These
    /// sessions were ended by this very call.
    #[error("there is nothing left of the grant")]
    WithoutGrant(Vec<Session>),
    /// There is no list, or only one that is too old, and the platform gives no new one for now.
    #[error("the platform gives no list")]
    NoList {
        /// When to ask again.
        retry_after: Duration,
        /// What the platform said last.
        #[source]
        cause: Cause,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lists users' guilds.
pub struct ListGuilds {
    /// Grants, with the last lists.
    pub grants: Arc<dyn GrantStore>,
    /// Ends sessions that have nothing to live on.
    pub sign_ins: Arc<dyn SignIns>,
    /// Gets newer lists.
    pub refresh: Arc<RefreshList>,
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

impl ListGuilds {
    /// The guilds of a user that have the bot and that the user has a role in.
    pub async fn list(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        if self.blocked.is_blocked(user).await? {
            return Err(ListGuildsError::Blocked(user));
        }
        let list = self.current_list(user).await?;
        let guilds = self.assemble(user, &list.memberships).await?;
        Ok(GuildListing { guilds, age: self.clock.now().age_of(list.fetched_at) })
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
        let grant = self.grant(user).await?;
        if let Some(list) = self.good_enough(&grant) {
            return Ok(list);
        }
        let last = grant.content.list.clone().filter(|list| self.is_younger(list, self.freshness.stale_for));
        let newer = self.refresh.patiently(self.newer_list(user, grant)).await;
        match (newer.unwrap_or_else(|| Err(no_list_yet())), last) {
            (Err(ListGuildsError::NoList { .. }), Some(last)) => Ok(last),
            (newer, _) => newer,
        }
    }

    /// A list that is fetched now. Whoever asks waits no longer than they want to.
    async fn newer_list(&self, user: UserId, mut grant: Grant) -> Result<GuildList, ListGuildsError> {
        loop {
            match self.refresh.refresh(user, grant).await {
                Refreshed::List(list) => return Ok(list),
                Refreshed::SignedOut(ended) => return Err(ListGuildsError::SignedOut(ended.take())),
                Refreshed::StoreFailed(error) => {
                    return Err(ListGuildsError::Store(StoreError::new(error.kind, error)));
                }
                Refreshed::Failed(error) => return Err(no_list(&error)),
                Refreshed::BrokenOff => return Err(no_list_yet()),
                Refreshed::Replaced | Refreshed::UnderWay => {}
            }
            grant = self.grant(user).await?;
            if let Some(list) = self.good_enough(&grant) {
                return Ok(list);
            }
        }
    }

    /// The user's grant. Where there is none, or nothing in it, the sessions that should live on it end.
    async fn grant(&self, user: UserId) -> Result<Grant, ListGuildsError> {
        loop {
            let ended = match self.grants.find(user).await? {
                Some(grant) if grant.content == GrantContent::default() => {
                    self.sign_ins.end(user, grant.version).await?
                }
                Some(grant) => return Ok(grant),
                None => self.sign_ins.end_without_grant(user).await?,
            };
            // Otherwise someone has signed in meanwhile.
            if let Some(ended) = ended {
                return Err(ListGuildsError::WithoutGrant(ended));
            }
        }
    }

    /// The list of a grant, where there is no need for a newer one, or no way to one.
    fn good_enough(&self, grant: &Grant) -> Option<GuildList> {
        let list = grant.content.list.clone()?;
        // Without tokens the list is as old as the sign-in, and that is what was chosen.
        let fresh = grant.content.tokens.is_none() || self.is_younger(&list, self.freshness.refresh_after);
        fresh.then_some(list)
    }

    fn is_younger(&self, list: &GuildList, age: Span) -> bool {
        self.clock.now().age_of(list.fetched_at) < age.get()
    }
}

fn no_list_yet() -> ListGuildsError {
    ListGuildsError::NoList { retry_after: TRY_AGAIN, cause: "the platform takes its time".into() }
}

fn no_list(error: &Arc<IdentityError>) -> ListGuildsError {
    let retry_after = match error.kind {
        IdentityErrorKind::Limited(wait) => wait,
        IdentityErrorKind::BadGrant
        | IdentityErrorKind::ScopeMissing
        | IdentityErrorKind::TokenRefused
        | IdentityErrorKind::Unreachable
        | IdentityErrorKind::TimedOut
        | IdentityErrorKind::Failed => TRY_AGAIN,
    };
    ListGuildsError::NoList { retry_after, cause: Arc::clone(error).into() }
}
