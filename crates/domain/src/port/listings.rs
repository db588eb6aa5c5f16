//! Everything that a user's listing is made of.

use super::{Grant, GrantContent, GrantVersion, StoreError};
use crate::{
    model::{
        GuildId, GuildList, GuildWithRoles, Membership, Profile, StaffPermissions, Subscription, UserId,
    },
    rules::{PlatformView, UserFacts, Verdict, judge, plus_of},
    settings::{Rights, UserStanding},
};
use async_trait::async_trait;
use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

/// Stored data that decides what a user is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Whether the user is blocked.
    pub blocked: bool,
    /// The user's grant, with the platform's last list.
    pub grant: Option<GrantSummary>,
    /// Those of the requested guilds that have the bot, each once, in any order, with the user's roles.
    pub guilds: Vec<GuildWithRoles>,
    /// The subscriptions that name any of the requested guilds, each once, in any order.
    pub guild_subscriptions: Vec<Arc<Subscription>>,
    /// The user's own subscription.
    pub subscription: Option<Arc<Subscription>>,
    /// Permissions granted to the user by name.
    pub staff: StaffPermissions,
    /// What an adapter has computed from this instance.
    pub memo: Memo,
}

/// A value that is computed at most once from the instance that holds it. Clones begin without it, and comparisons ignore it.
#[derive(Debug, Default)]
pub struct Memo(OnceLock<Box<dyn Any + Send + Sync>>);

impl Memo {
    /// Returns the value, or computes it. An error is not kept.
    pub fn get_or_compute<T: Clone + Send + Sync + 'static, E>(
        &self,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(known) = self.0.get().and_then(|known| known.downcast_ref::<T>()) {
            return Ok(known.clone());
        }
        let value = compute()?;
        // The first of concurrent computations is kept.
        let _ = self.0.set(Box::new(value.clone()));
        Ok(value)
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Memo {}

impl Listing {
    /// Returns the facts about the user that count in every guild.
    #[must_use]
    pub fn user_facts(&self) -> UserFacts {
        UserFacts { blocked: self.blocked, subscription: self.subscription.clone(), staff: self.staff }
    }

    /// Returns what the user is shown of a guild, and why. The listing must cover the guild.
    #[must_use]
    pub fn verdict(&self, guild: GuildId) -> Verdict {
        let membership = self.membership(guild);
        let platform = match &self.grant {
            None => PlatformView::NotSignedIn,
            Some(grant) if grant.list.is_none() => PlatformView::NoList,
            Some(_) => PlatformView::Listed(membership.as_ref()),
        };
        judge(&self.user_facts(), platform, self.seen(guild), self.plus(guild).is_some())
    }

    /// Returns the rights that decide about the settings of a guild. The listing must cover the guild.
    #[must_use]
    pub fn standing(&self, guild: GuildId) -> UserStanding {
        let verdict = self.verdict(guild);
        let premium = self.plus(guild).is_some();
        let rights = Rights { permissions: verdict.decision.permissions(), premium };
        UserStanding {
            list_fetched_at: self.list().map(|list| list.fetched_at),
            listed: verdict.listed.map(|_| rights),
        }
    }

    /// Returns the entry of the platform's last list for a guild.
    #[must_use]
    pub fn membership(&self, guild: GuildId) -> Option<Membership> {
        self.list()?.memberships.iter().find(|membership| membership.guild == guild).copied()
    }

    /// Returns what the bot reports about a guild, and the user's roles in it.
    #[must_use]
    pub fn seen(&self, guild: GuildId) -> Option<&GuildWithRoles> {
        self.guilds.iter().find(|seen| seen.guild.id == guild)
    }

    /// Returns the subscription that makes a guild premium.
    #[must_use]
    pub fn plus(&self, guild: GuildId) -> Option<Arc<Subscription>> {
        plus_of(guild, &self.guild_subscriptions)
    }

    /// Returns the platform's last list, if any.
    #[must_use]
    pub fn list(&self) -> Option<&GuildList> {
        self.grant.as_ref().and_then(|grant| grant.list.as_ref())
    }
}

/// A grant without its tokens. Listings are cached in memory, where tokens must not be, sealed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantSummary {
    /// The version of the grant.
    pub version: GrantVersion,
    /// Whether there are tokens to fetch a newer list with.
    pub renewable: bool,
    /// The platform's last list, if any.
    pub list: Option<GuildList>,
    /// The user's name and picture, if known.
    pub profile: Option<Profile>,
}

impl GrantSummary {
    /// Returns whether the grant holds neither tokens nor a list, so that no session can use it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.renewable && self.list.is_none()
    }
}

impl From<Grant> for GrantSummary {
    fn from(Grant { version, content }: Grant) -> Self {
        let GrantContent { tokens, list, profile } = content;
        Self { version, renewable: tokens.is_some(), list, profile }
    }
}

/// Which guilds a listing covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingScope {
    /// The guilds of the platform's last list for the user.
    List,
    /// A single guild, whether or not the list contains it.
    Guild(GuildId),
}

impl ListingScope {
    /// Returns the requested guilds of a user with this grant.
    #[must_use]
    pub fn guilds(self, grant: Option<&GrantSummary>) -> Vec<GuildId> {
        match self {
            Self::Guild(guild) => vec![guild],
            Self::List => {
                let list = grant.and_then(|grant| grant.list.as_ref());
                let memberships = list.map(|list| &*list.memberships).unwrap_or_default();
                memberships.iter().map(|membership| membership.guild).collect()
            }
        }
    }
}

/// Reads what listings are made of.
#[async_trait]
pub trait Listings: Send + Sync {
    /// Returns everything that decides what a user is shown of these guilds, as one consistent snapshot. An
    /// unreadable grant is corrupt. For a blocked user it counts as absent, since the block alone decides.
    async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError>;

    /// Returns what [`read`](Self::read) would return for a user's list, if it is cached. `None` means not cached,
    /// not absent.
    fn cached(&self, _user: UserId) -> Option<Arc<Listing>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_computed_once_per_instance() {
        let listing = Listing::default();
        let compute =
            |listing: &Listing, result: Result<u8, &'static str>| listing.memo.get_or_compute(|| result);
        assert_eq!(compute(&listing, Err("not yet")), Err("not yet"));
        for (result, expected) in [(Ok(1), Ok(1)), (Ok(2), Ok(1)), (Err("too late"), Ok(1))] {
            assert_eq!(compute(&listing, result), expected);
        }
        let copy = listing.clone();
        assert_eq!(compute(&copy, Ok(3)), Ok(3));
        assert_eq!(copy, listing);
    }
}
