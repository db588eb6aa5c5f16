//! Explaining what a user is shown of a guild, and why.

use crate::{
    model::{GuildId, GuildWithRoles, Membership, Subscription, UserId},
    port::{Asked, Clock, GrantSummary, Listings, StoreError},
    rules::{PlatformView, UserFacts, Verdict, judge, plus_of},
};
use std::{sync::Arc, time::Duration};

/// Explains to an operator what a user is shown of a guild. It only looks: the platform is not asked.
pub struct ExplainGuild {
    /// What decides it.
    pub listings: Arc<dyn Listings>,
    /// Tells how old the last list is.
    pub clock: Arc<dyn Clock>,
}

/// What a user is shown of a guild, and everything that counts for or against it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Whether the guild is listed, and the permissions; the user is shown them only where it is.
    pub verdict: Verdict,
    /// The platform's last list for the user.
    pub list: Option<LastList>,
    /// What that list says about the guild.
    pub membership: Option<Membership>,
    /// What the bot says about the guild, and about the user's roles in it.
    pub seen: Option<GuildWithRoles>,
    /// The subscription that makes the guild premium.
    pub plus: Option<Arc<Subscription>>,
    /// What counts about the user in every guild.
    pub user: UserFacts,
}

/// The platform's last list for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastList {
    /// How many guilds it has.
    pub guilds: usize,
    /// How long ago the platform gave it.
    pub age: Duration,
    /// Whether the platform can be asked for a newer one without the user.
    pub renewable: bool,
}

impl ExplainGuild {
    /// Explains one guild to those who look after one user.
    pub async fn explain(&self, user: UserId, guild: GuildId) -> Result<Explanation, StoreError> {
        let listing = self.listings.read(user, Asked::Guild(guild)).await?;
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
