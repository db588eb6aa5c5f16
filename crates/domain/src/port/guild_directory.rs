//! Guilds that have the bot, and the roles of their members.

use super::StoreError;
use crate::{
    change::Tally,
    model::{Guild, GuildId, GuildSeen, Member, UserId},
};
use async_trait::async_trait;
use std::sync::Arc;

/// Knows the guilds that the bot reports.
#[async_trait]
pub trait GuildDirectory: Send + Sync {
    /// Those of `guilds` that have the bot, each once, in any order, with the user's roles in them: all as of one
    /// moment.
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError>;

    /// One guild.
    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError>;

    /// Adds a guild, or replaces it. Its members stay.
    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError>;

    /// Removes a guild, and its members with it. They do not count.
    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError>;

    /// Sets a member's roles. Nothing where the guild is not known.
    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError>;

    /// Forgets a member's roles. Nothing where the guild is not known.
    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError>;
}
