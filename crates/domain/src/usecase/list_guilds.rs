//! Listing a user's guilds, from a list that is kept fresh.

use super::{
    all::Core,
    refresh::{RefreshList, Refreshed},
};
use crate::{
    model::{GuildList, Profile, Span, UserId},
    port::{Cause, Listing, ListingScope, StoreError},
    rules::{ListedGuild, list_guilds},
    session::Session,
};
use std::{sync::Arc, time::Duration};

/// When to retry for a list that could not be fetched.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Maximum age of guild lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// A list older than this is refreshed.
    pub refresh_after: Span,
    /// A list that could not be refreshed is served up to this age.
    pub stale_for: Span,
}

/// The listing of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuildListing {
    /// Everything that it is made of. As long as this instance is the same, so are the guilds shown.
    pub listing: Arc<Listing>,
    /// The age of the platform's list.
    pub age: Duration,
}

impl GuildListing {
    /// Returns the guilds, in order.
    #[must_use]
    pub fn guilds(&self) -> Vec<ListedGuild> {
        let memberships = self.listing.list().map(|list| &*list.memberships).unwrap_or_default();
        list_guilds(
            &self.listing.user_facts(),
            memberships,
            &self.listing.guilds,
            &self.listing.guild_subscriptions,
        )
    }
}

/// Why there is no listing.
#[derive(Debug, thiserror::Error)]
pub enum ListGuildsError {
    /// The user is blocked.
    #[error("user {0} is blocked")]
    Blocked(UserId),
    /// The platform ended the grant: the user has to sign in again. Contains the sessions that ended with it, for one
    /// of the concurrent callers only.
    #[error("the platform ended the grant")]
    SignedOut(Vec<Session>),
    /// The grant is missing or empty, as after a crash: the user has to sign in again. Contains the sessions that
    /// this call ended.
    #[error("the grant is gone or empty")]
    WithoutGrant(Vec<Session>),
    /// There is no list, or only one that is too old, and the platform does not return a new one for now.
    #[error("the platform has given no list")]
    NoList {
        /// When to retry.
        retry_after: Duration,
        /// The last error of the platform.
        #[source]
        cause: Cause,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lists users' guilds.
pub struct ListGuilds {
    /// Refreshes lists.
    pub refresh: Arc<RefreshList>,
    pub(super) core: Arc<Core>,
}

impl ListGuilds {
    /// Returns the guilds that have the bot and in which the user has a role.
    pub async fn list(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        match self.current(user).await? {
            Some(current) => Ok(current),
            None => self.newer(user).await,
        }
    }

    /// Like [`list`](Self::list), but only from the store. `None` if the platform has to be called first.
    pub async fn current(&self, user: UserId) -> Result<Option<GuildListing>, ListGuildsError> {
        let listing = self.read(user).await?;
        self.is_current(&listing).then(|| self.with_age(listing)).transpose()
    }

    /// Like [`list`](Self::list), but after a call to the platform. Waits briefly for it, and then falls back to the
    /// last list.
    pub async fn newer(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        let renewed = self.refresh.within_request(self.renew(user)).await;
        let failure = match renewed.unwrap_or_else(|| Err(ListGuildsError::not_yet())) {
            Ok(()) => ListGuildsError::not_yet(),
            Err(no_list @ ListGuildsError::NoList { .. }) => no_list,
            Err(other) => return Err(other),
        };
        // Another node may have stored a newer list.
        let _ = self.core.dispatcher.catch_up().await;
        let listing = self.read(user).await?;
        // Without a newer list the last one is shown, unless it is too old.
        let serves = |list| self.is_younger(list, self.core.settings.freshness.stale_for);
        if !listing.list().is_some_and(serves) && !self.is_current(&listing) {
            return Err(failure);
        }
        self.with_age(listing)
    }

    fn with_age(&self, listing: Arc<Listing>) -> Result<GuildListing, ListGuildsError> {
        let list = listing.list().ok_or_else(ListGuildsError::not_yet)?;
        Ok(GuildListing { age: self.core.now().age_of(list.fetched_at), listing })
    }

    /// Like [`list`](Self::list), but only from the cache, and only if nothing has to be done first. `None` means not
    /// cached, not absent.
    #[must_use]
    pub fn cached(&self, user: UserId) -> Option<GuildListing> {
        let listing = self.core.listings.cached(user)?;
        if listing.blocked || !self.is_current(&listing) {
            return None;
        }
        Some(GuildListing { age: self.core.now().age_of(listing.list()?.fetched_at), listing })
    }

    /// Returns the name and picture of a user, if their grant has them. It never calls the platform.
    pub async fn profile(&self, user: UserId) -> Result<Option<Profile>, StoreError> {
        let listing = self.core.listings.read(user, ListingScope::List).await?;
        Ok(listing.grant.as_ref().and_then(|grant| grant.profile.clone()))
    }

    /// Returns the sessions that ended with their grant while no request was waiting, since the last call.
    #[must_use]
    pub fn drain_unaudited_ends(&self) -> Vec<Session> {
        self.refresh.take_unaudited(None)
    }

    /// Reads the listing. Ends the user's sessions if the grant is missing or empty.
    async fn read(&self, user: UserId) -> Result<Arc<Listing>, ListGuildsError> {
        let sign_ins = &self.core.ports.stores.sign_ins;
        loop {
            let listing = self.core.listings.read(user, ListingScope::List).await?;
            if listing.blocked {
                return Err(ListGuildsError::Blocked(user));
            }
            let ended = match &listing.grant {
                Some(grant) if grant.is_empty() => sign_ins.end(user, grant.version).await?,
                Some(_) => return Ok(listing),
                None => sign_ins.end_without_grant(user).await?,
            };
            // Otherwise the user has signed in meanwhile.
            if let Some(ended) = ended {
                return Err(ListGuildsError::WithoutGrant(ended));
            }
        }
    }

    /// Returns when a list that needs no refresh is stored. The caller sets the timeout.
    async fn renew(&self, user: UserId) -> Result<(), ListGuildsError> {
        loop {
            let Some(grant) = self.core.grants().find(user).await? else { return Ok(()) };
            if self.is_fresh_enough(grant.content.list.as_ref(), grant.content.tokens.is_some()) {
                return Ok(());
            }
            match self.refresh.refresh(user, grant).await {
                Refreshed::Stored => return Ok(()),
                Refreshed::SignedOut => {
                    return Err(ListGuildsError::SignedOut(self.refresh.take_unaudited(Some(user))));
                }
                Refreshed::StoreFailed(error) => return Err(error.into()),
                Refreshed::Failed(error) => {
                    let retry_after = error.kind.retry_after().unwrap_or(RETRY_AFTER);
                    return Err(ListGuildsError::NoList { retry_after, cause: error.into() });
                }
                Refreshed::Pending => return Err(ListGuildsError::not_yet()),
                Refreshed::Replaced => {}
            }
        }
    }

    fn is_current(&self, listing: &Listing) -> bool {
        let renewable = listing.grant.as_ref().is_some_and(|grant| grant.renewable);
        self.is_fresh_enough(listing.list(), renewable)
    }

    /// Returns whether there is a list that needs no refresh, or no way to refresh it.
    fn is_fresh_enough(&self, list: Option<&GuildList>, renewable: bool) -> bool {
        // Without tokens the list is as old as the sign-in, as configured.
        list.is_some_and(|list| {
            !renewable || self.is_younger(list, self.core.settings.freshness.refresh_after)
        })
    }

    fn is_younger(&self, list: &GuildList, age: Span) -> bool {
        self.core.now().age_of(list.fetched_at) < age.get()
    }
}

impl ListGuildsError {
    /// The platform has returned no list that is new enough yet.
    pub(super) fn not_yet() -> Self {
        Self::NoList { retry_after: RETRY_AFTER, cause: "the platform has not answered yet".into() }
    }
}
