//! Listing a user's guilds, from a list that is kept fresh.

use super::{ChangeDispatcher, refresh::RefreshList, refresh::Refreshed};
use crate::{
    model::{GuildList, Span, UserId},
    port::{
        Asked, Cause, Clock, GrantStore, IdentityError, IdentityErrorKind, Listing, Listings, SignIns,
        StoreError,
    },
    rules::{ListedGuild, list_guilds},
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
    /// All that it is made of. As long as this is the same, so are the guilds that are shown.
    pub listing: Arc<Listing>,
    /// How old the platform's list behind it is.
    pub age: Duration,
}

impl GuildListing {
    /// The guilds, in order.
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
    #[error("the grant is gone or empty")]
    WithoutGrant(Vec<Session>),
    /// There is no list, or only one that is too old, and the platform gives no new one for now.
    #[error("the platform has given no list")]
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
    /// What listings are made of.
    pub listings: Arc<dyn Listings>,
    /// Grants with their tokens, for newer lists.
    pub grants: Arc<dyn GrantStore>,
    /// Ends sessions that have nothing to live on.
    pub sign_ins: Arc<dyn SignIns>,
    /// Gets newer lists.
    pub refresh: Arc<RefreshList>,
    /// Whoever keeps copies.
    pub dispatcher: Arc<ChangeDispatcher>,
    /// Tells how old a list is.
    pub clock: Arc<dyn Clock>,
    /// How old a list may be.
    pub freshness: Freshness,
}

impl ListGuilds {
    /// The guilds of a user that have the bot and that the user has a role in.
    pub async fn list(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        match self.current(user).await? {
            Some(current) => Ok(current),
            None => self.newer(user).await,
        }
    }

    /// The same as far as our own store knows; nothing where the platform has to be asked first.
    pub async fn current(&self, user: UserId) -> Result<Option<GuildListing>, ListGuildsError> {
        let listing = self.read(user).await?;
        self.is_current(&listing).then(|| self.dated(listing)).transpose()
    }

    /// The same after the platform was asked. Whoever asks waits a moment for it, and then gets the last list there is.
    pub async fn newer(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        let renewed = self.refresh.within_request(self.renew(user)).await;
        let failure = match renewed.unwrap_or_else(|| Err(no_list_yet())) {
            Ok(()) => no_list_yet(),
            Err(no_list @ ListGuildsError::NoList { .. }) => no_list,
            Err(other) => return Err(other),
        };
        // It may have been another node that stored a newer list.
        let _ = self.dispatcher.catch_up().await;
        let listing = self.read(user).await?;
        // The last list is shown where there is no newer one, unless it is too old.
        let serves = |list| self.is_younger(list, self.freshness.stale_for);
        if !listing.list().is_some_and(serves) && !self.is_current(&listing) {
            return Err(failure);
        }
        self.dated(listing)
    }

    fn dated(&self, listing: Arc<Listing>) -> Result<GuildListing, ListGuildsError> {
        let list = listing.list().ok_or_else(no_list_yet)?;
        Ok(GuildListing { age: self.clock.now().age_of(list.fetched_at), listing })
    }

    /// The same where it is in memory and nothing has to be done first. Nothing says nothing.
    #[must_use]
    pub fn cached(&self, user: UserId) -> Option<GuildListing> {
        let listing = self.listings.cached(user)?;
        if listing.blocked || !self.is_current(&listing) {
            return None;
        }
        Some(GuildListing { age: self.clock.now().age_of(listing.list()?.fetched_at), listing })
    }

    /// The sessions that ended with what the platform had granted when no request waited for it any more, since the last time
    /// that this was asked.
    #[must_use]
    pub fn drain_unaudited_ends(&self) -> Vec<Session> {
        self.refresh.unheard()
    }

    /// What a listing is made of. Where there is no grant, or nothing in it, the sessions that should live on it end.
    async fn read(&self, user: UserId) -> Result<Arc<Listing>, ListGuildsError> {
        loop {
            let listing = self.listings.read(user, Asked::List).await?;
            if listing.blocked {
                return Err(ListGuildsError::Blocked(user));
            }
            let ended = match &listing.grant {
                Some(grant) if grant.is_empty() => self.sign_ins.end(user, grant.version).await?,
                Some(_) => return Ok(listing),
                None => self.sign_ins.end_without_grant(user).await?,
            };
            // Otherwise someone has signed in meanwhile.
            if let Some(ended) = ended {
                return Err(ListGuildsError::WithoutGrant(ended));
            }
        }
    }

    /// Returns when a list that needs no refresh is stored. Whoever asks waits no longer than they want to.
    async fn renew(&self, user: UserId) -> Result<(), ListGuildsError> {
        loop {
            let Some(grant) = self.grants.find(user).await? else { return Ok(()) };
            if self.needs_no_newer(grant.content.list.as_ref(), grant.content.tokens.is_some()) {
                return Ok(());
            }
            match self.refresh.refresh(user, grant).await {
                Refreshed::Stored => return Ok(()),
                Refreshed::SignedOut(ended) => return Err(ListGuildsError::SignedOut(ended.take())),
                Refreshed::StoreFailed(error) => {
                    return Err(ListGuildsError::Store(StoreError::new(error.kind, error)));
                }
                Refreshed::Failed(error) => return Err(no_list(&error)),
                Refreshed::Pending => return Err(no_list_yet()),
                Refreshed::Replaced => {}
            }
        }
    }

    fn is_current(&self, listing: &Listing) -> bool {
        let renewable = listing.grant.as_ref().is_some_and(|grant| grant.renewable);
        self.needs_no_newer(listing.list(), renewable)
    }

    /// Whether there is a list that needs no refresh, or no way to a newer one.
    fn needs_no_newer(&self, list: Option<&GuildList>, renewable: bool) -> bool {
        // Without tokens the list is as old as the sign-in, and that is what was chosen.
        list.is_some_and(|list| !renewable || self.is_younger(list, self.freshness.refresh_after))
    }

    fn is_younger(&self, list: &GuildList, age: Span) -> bool {
        self.clock.now().age_of(list.fetched_at) < age.get()
    }
}

fn no_list_yet() -> ListGuildsError {
    ListGuildsError::NoList { retry_after: TRY_AGAIN, cause: "the platform has not answered yet".into() }
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
