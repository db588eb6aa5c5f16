//! Explaining what a user is shown of a guild, and why.

use crate::{
    model::{GuildId, GuildWithRoles, Membership, Subscription, UserId},
    port::{Clock, GrantSummary, ListingScope, Listings, StoreError},
    rules::{PlatformView, UserFacts, Verdict, judge, plus_of},
};
use std::{sync::Arc, time::Duration};

/// Explains to an operator what a user is shown of a guild. It only reads the store and does not call the platform.
pub struct ExplainGuild {
    /// The parts of listings.
    pub listings: Arc<dyn Listings>,
    /// Determines the age of the last list.
    pub clock: Arc<dyn Clock>,
}

/// What a user is shown of a guild, and all facts that decide it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Whether the guild is listed, and the permissions. The user sees them only if it is listed.
    pub verdict: Verdict,
    /// The platform's last list for the user.
    pub list: Option<LastList>,
    /// The entry of that list for the guild.
    pub membership: Option<Membership>,
    /// What the bot reports about the guild, and the user's roles in it.
    pub seen: Option<GuildWithRoles>,
    /// The subscription that makes the guild premium.
    pub plus: Option<Arc<Subscription>>,
    /// Facts about the user that count in every guild.
    pub user: UserFacts,
}

/// The platform's last list for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastList {
    /// Number of guilds in it.
    pub guilds: usize,
    /// Its age.
    pub age: Duration,
    /// Whether a newer one can be fetched without the user.
    pub renewable: bool,
}

impl ExplainGuild {
    /// Explains one guild for one user.
    pub async fn explain(&self, user: UserId, guild: GuildId) -> Result<Explanation, StoreError> {
        let listing = self.listings.read(user, ListingScope::Guild(guild)).await?;
        let user = listing.user_facts();
        let (plus, seen) = (plus_of(guild, &listing.guild_subscriptions), listing.guilds.first().cloned());
        let membership = membership(listing.grant.as_ref(), guild);
        let platform = match &listing.grant {
            None => PlatformView::NotSignedIn,
            Some(grant) if grant.list.is_none() => PlatformView::NoList,
            Some(_) => PlatformView::Listed(membership.as_ref()),
        };
        Ok(Explanation {
            verdict: judge(&user, platform, seen.as_ref(), plus.is_some()),
            list: listing.grant.as_ref().and_then(|grant| self.last_list(grant)),
            membership,
            seen,
            plus,
            user,
        })
    }

    fn last_list(&self, grant: &GrantSummary) -> Option<LastList> {
        let list = grant.list.as_ref()?;
        Some(LastList {
            guilds: list.memberships.len(),
            age: self.clock.now().age_of(list.fetched_at),
            renewable: grant.renewable,
        })
    }
}

fn membership(grant: Option<&GrantSummary>, guild: GuildId) -> Option<Membership> {
    let list = grant?.list.as_ref()?;
    list.memberships.iter().find(|membership| membership.guild == guild).copied()
}
