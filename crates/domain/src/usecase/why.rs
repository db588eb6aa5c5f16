//! Explaining what a user is shown of a guild, and why.

use crate::{
    model::{GuildId, Membership, Subscription, UserId},
    policy::{Decision, GuildRole, decide},
    port::{
        BlockList, Clock, Grant, GrantStore, GuildDirectory, GuildSeen, StaffDirectory, StoreError,
        SubscriptionStore,
    },
    rules::{NotListed, UserFacts, known_facts, plus_of},
};
use std::{sync::Arc, time::Duration};

/// Explains to an operator what a user is shown of a guild. It only looks: the platform is not asked.
pub struct ExplainGuild {
    /// Grants, with the last lists.
    pub grants: Arc<dyn GrantStore>,
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
}

/// What a user is shown of a guild, and everything that counts for or against it.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The role under which the guild is listed, or everything that keeps it out of the list.
    pub listed: Result<GuildRole, Vec<NotListed>>,
    /// The permissions and their reasons, by the facts that are known; shown to the user only where the guild is listed.
    pub decision: Decision,
    /// The platform's last list for the user.
    pub list: Option<LastList>,
    /// What that list says about the guild.
    pub membership: Option<Membership>,
    /// What the bot says about the guild, and about the user's roles in it.
    pub seen: Option<GuildSeen>,
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
        let blocked = self.blocked.is_blocked(user).await?;
        let grant = self.grants.find(user).await?;
        let facts = UserFacts {
            subscription: self.subscriptions.of_user(user).await?,
            staff: self.staff.grants(user).await?.unwrap_or_default(),
        };
        let plus = plus_of(guild, &self.subscriptions.naming(&[guild]).await?);
        let seen = self.guilds.seen_by(user, &[guild]).await?.pop();
        let membership = membership(grant.as_ref(), guild);
        let known = seen.as_ref().map(|seen| (&*seen.guild, &*seen.roles));
        let decision = decide(known_facts(&facts, membership.as_ref(), known, plus.is_some()));
        Ok(Explanation {
            listed: listed(blocked, grant.as_ref(), membership, seen.is_some(), decision),
            decision,
            list: grant.as_ref().and_then(|grant| self.last_list(grant)),
            membership,
            seen,
            plus,
            user: facts,
        })
    }

    fn last_list(&self, grant: &Grant) -> Option<LastList> {
        let list = grant.content.list.as_ref()?;
        Some(LastList {
            guilds: list.memberships.len(),
            age: self.clock.now().age_of(list.fetched_at),
            renewable: grant.content.tokens.is_some(),
        })
    }
}

fn membership(grant: Option<&Grant>, guild: GuildId) -> Option<Membership> {
    let list = grant?.content.list.as_ref()?;
    list.memberships.iter().find(|membership| membership.guild == guild).copied()
}

/// Everything that stands in the way, so that nobody clears one obstacle only to meet the next.
fn listed(
    blocked: bool,
    grant: Option<&Grant>,
    membership: Option<Membership>,
    has_bot: bool,
    decision: Decision,
) -> Result<GuildRole, Vec<NotListed>> {
    let mut obstacles = Vec::new();
    if blocked {
        obstacles.push(NotListed::Blocked);
    }
    match grant {
        None => obstacles.push(NotListed::NotSignedIn),
        Some(grant) if grant.content.list.is_none() => obstacles.push(NotListed::WithoutList),
        Some(_) if membership.is_none() => obstacles.push(NotListed::NotAMember),
        Some(_) => {}
    }
    if !has_bot {
        obstacles.push(NotListed::WithoutBot);
    }
    let role = membership.map(|membership| GuildRole::of(membership.owner, decision.permissions()));
    match role {
        Some(Some(role)) if obstacles.is_empty() => return Ok(role),
        // Without the bot nobody knows which of its roles the user has.
        Some(None) if has_bot => obstacles.push(NotListed::PlainMember),
        Some(_) | None => {}
    }
    Err(obstacles)
}
