//! Listing a user's guilds, from a list that is kept fresh.

use super::refresh::{RefreshList, Refreshed};
use crate::{
    model::{GuildList, Span, UserId},
    port::{
        Asked, Cause, Clock, Grant, GrantContent, IdentityError, IdentityErrorKind, Listing, Listings,
        SignIns, StoreError,
    },
    rules::{ListedGuild, UserFacts, list_guilds},
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
    /// Ends sessions that have nothing to live on.
    pub sign_ins: Arc<dyn SignIns>,
    /// Gets newer lists.
    pub refresh: Arc<RefreshList>,
    /// Tells how old a list is.
    pub clock: Arc<dyn Clock>,
    /// How old a list may be.
    pub freshness: Freshness,
}

impl ListGuilds {
    /// The guilds of a user that have the bot and that the user has a role in.
    pub async fn list(&self, user: UserId) -> Result<GuildListing, ListGuildsError> {
        let (mut grant, mut listing) = self.read(user).await?;
        if !self.is_good_enough(&grant) {
            let renewed = self.refresh.within_request(self.renew(user, grant)).await;
            let failure = match renewed.unwrap_or_else(|| Err(no_list_yet())) {
                Ok(()) => no_list_yet(),
                Err(no_list @ ListGuildsError::NoList { .. }) => no_list,
                Err(other) => return Err(other),
            };
            (grant, listing) = self.read(user).await?;
            // The last list is shown where there is no newer one, unless it is too old.
            if !self.has_list_younger_than(self.freshness.stale_for, &grant) && !self.is_good_enough(&grant) {
                return Err(failure);
            }
        }
        let list = grant.content.list.ok_or_else(no_list_yet)?;
        let facts = UserFacts { blocked: false, subscription: listing.subscription, staff: listing.staff };
        let guilds = list_guilds(&facts, &list.memberships, listing.guilds, &listing.naming);
        Ok(GuildListing { guilds, age: self.clock.now().age_of(list.fetched_at) })
    }

    /// The user's grant, and what else a listing is made of. Where there is no grant, or nothing in it, the sessions that
    /// should live on it end.
    async fn read(&self, user: UserId) -> Result<(Grant, Listing), ListGuildsError> {
        loop {
            let mut listing = self.listings.read(user, Asked::List).await?;
            if listing.blocked {
                return Err(ListGuildsError::Blocked(user));
            }
            let ended = match listing.grant.take() {
                Some(grant) if grant.content == GrantContent::default() => {
                    self.sign_ins.end(user, grant.version).await?
                }
                Some(grant) => return Ok((grant, listing)),
                None => self.sign_ins.end_without_grant(user).await?,
            };
            // Otherwise someone has signed in meanwhile.
            if let Some(ended) = ended {
                return Err(ListGuildsError::WithoutGrant(ended));
            }
        }
    }

    /// Returns when a list that needs no refresh is stored. Whoever asks waits no longer than they want to.
    async fn renew(&self, user: UserId, mut grant: Grant) -> Result<(), ListGuildsError> {
        loop {
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
            (grant, _) = self.read(user).await?;
            if self.is_good_enough(&grant) {
                return Ok(());
            }
        }
    }

    /// Whether the list of a grant needs no refresh, or there is no way to a newer one.
    fn is_good_enough(&self, grant: &Grant) -> bool {
        // Without tokens the list is as old as the sign-in, and that is what was chosen.
        (grant.content.list.is_some() && grant.content.tokens.is_none())
            || self.has_list_younger_than(self.freshness.refresh_after, grant)
    }

    fn has_list_younger_than(&self, age: Span, grant: &Grant) -> bool {
        let is_younger = |list: &GuildList| self.clock.now().age_of(list.fetched_at) < age.get();
        grant.content.list.as_ref().is_some_and(is_younger)
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
