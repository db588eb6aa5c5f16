//! Everything that a user's listing is made of.

use super::{Grant, GrantVersion, StoreError};
use crate::{
    model::{GuildId, GuildList, GuildWithRoles, StaffPermissions, Subscription, UserId},
    rules::UserFacts,
};
use async_trait::async_trait;
use std::sync::Arc;

/// What is stored of a user that decides what they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Whether the user is blocked.
    pub blocked: bool,
    /// The user's grant, with the platform's last list.
    pub grant: Option<GrantSummary>,
    /// Of the guilds that were asked for, those that have the bot, each once, in any order, with the user's roles.
    pub guilds: Vec<GuildWithRoles>,
    /// The subscriptions that name any of the guilds that were asked for, each once, in any order.
    pub guild_subscriptions: Vec<Arc<Subscription>>,
    /// The user's own subscription.
    pub subscription: Option<Arc<Subscription>>,
    /// What the user was granted by name.
    pub staff: StaffPermissions,
}

impl Listing {
    /// What counts about the user in every guild.
    #[must_use]
    pub fn user_facts(&self) -> UserFacts {
        UserFacts { blocked: self.blocked, subscription: self.subscription.clone(), staff: self.staff }
    }

    /// The platform's last list.
    #[must_use]
    pub fn list(&self) -> Option<&GuildList> {
        self.grant.as_ref().and_then(|grant| grant.list.as_ref())
    }
}

/// A grant without its tokens: a listing may be kept in memory, and sealed or not, they have no place there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantSummary {
    /// Which writing of the grant this is.
    pub version: GrantVersion,
    /// Whether there are tokens to ask the platform for a newer list with.
    pub renewable: bool,
    /// The platform's last list, where one has come.
    pub list: Option<GuildList>,
}

impl GrantSummary {
    /// Whether nothing is in the grant that a session could live on.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.renewable && self.list.is_none()
    }
}

impl From<Grant> for GrantSummary {
    fn from(Grant { version, content }: Grant) -> Self {
        Self { version, renewable: content.tokens.is_some(), list: content.list }
    }
}

/// Which guilds someone asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Those of the platform's last list for the user.
    List,
    /// This one, whether or not the list has it.
    Guild(GuildId),
}

impl Asked {
    /// The guilds that are asked for, of a user with this grant.
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
    /// All that decides what a user is shown of these guilds, as of one moment: no write is seen in part. A grant that
    /// cannot be read is corrupt, but of a blocked user it counts as absent: the block alone decides.
    async fn read(&self, user: UserId, asked: Asked) -> Result<Arc<Listing>, StoreError>;

    /// What [`read`](Self::read) would give now for a user's list, where it is in memory.
    fn cached(&self, _user: UserId) -> Option<Arc<Listing>> {
        None
    }

    /// What [`read`](Self::read) gives for the list of each of these users, in their order, for fewer trips to the store.
    async fn read_many(&self, users: &[UserId]) -> Result<Vec<Arc<Listing>>, StoreError> {
        let mut listings = Vec::with_capacity(users.len());
        for user in users {
            listings.push(self.read(*user, Asked::List).await?);
        }
        Ok(listings)
    }
}
