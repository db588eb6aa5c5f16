//! Explaining what a user is shown of a guild, and why.

use crate::{
    change::Key,
    model::{
        GuildId, GuildWithRoles, Membership, Outline, RoleBindings, RoleId, RoleKey, Subscription, UserId,
    },
    policy::Permission,
    port::{Clock, GrantSummary, ListingScope, Listings, Record, Records, StoreError},
    rules::{Needs, UserFacts, Verdict},
};
use std::{sync::Arc, time::Duration};

/// Explains to an operator what a user is shown of a guild. It only reads the store and does not call the platform.
pub struct ExplainGuild {
    /// The parts of listings.
    pub listings: Arc<dyn Listings>,
    /// The names of roles.
    pub records: Arc<dyn Records>,
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
    /// The names of the guild's roles, if the bot sent them.
    pub outline: Option<Outline>,
}

impl Explanation {
    /// Returns what the user needs to have a permission, or `None` if it is granted.
    #[must_use]
    pub fn needs(&self, permission: Permission) -> Option<Needs> {
        let none = RoleBindings::default();
        let bindings = self.seen.as_ref().map_or(&none, |seen| &seen.guild.bindings);
        let is_granted = self.verdict.decision.permissions().contains(permission);
        (!is_granted).then(|| Needs::of(permission, bindings))
    }

    /// Returns the user's roles that the guild has bound to a key.
    #[must_use]
    pub fn roles_bound_to(&self, key: RoleKey) -> Vec<RoleId> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let bound = seen.guild.bindings.roles(key).iter().copied();
        bound.filter(|role| seen.roles.as_slice().contains(role)).collect()
    }
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
        Ok(Explanation {
            verdict: listing.verdict(guild),
            list: listing.grant.as_ref().and_then(|grant| self.last_list(grant)),
            membership: listing.membership(guild),
            seen: listing.seen(guild).cloned(),
            plus: listing.plus(guild),
            user: listing.user_facts(),
            outline: find_outline(&*self.records, guild).await?,
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

/// Returns the channels and roles of a guild, if the bot sent them.
pub async fn find_outline(records: &dyn Records, guild: GuildId) -> Result<Option<Outline>, StoreError> {
    Ok(match records.find(&Key::Outline(guild)).await? {
        Some(Record::Outline(outline)) => Some(outline),
        Some(_) | None => None,
    })
}
