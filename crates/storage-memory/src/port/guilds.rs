//! Guilds that have the bot, and the roles of their members.

use crate::state::MemoryStorage;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, Member, UserId},
    port::{GuildDirectory, GuildSeen, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl GuildDirectory for MemoryStorage {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        Ok(self.read().guilds.seen_by(user, guilds))
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        Ok(self.read().guilds.find(guild))
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let guild = Arc::new(guild.clone());
        Ok(self.write(|state, journal| state.guilds.put(guild, journal)))
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove(guild, journal)))
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let roles = Arc::new(member.roles.clone());
        Ok(self.write(|state, journal| state.guilds.put_member(member.guild, member.user, roles, journal)))
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        Ok(self.write(|state, journal| state.guilds.remove_member(guild, user, journal)))
    }
}
