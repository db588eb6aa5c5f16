//! Guilds that have the bot, and the roles of their members.

use super::Told;
use crate::key::Key;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, GuildSeen, Member, UserId},
    port::{GuildDirectory, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl GuildDirectory for Told<dyn GuildDirectory> {
    async fn seen_by(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        self.inner.seen_by(user, guilds).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        self.inner.find(guild).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        self.telling([Key::Guild(guild.id)], self.inner.put(guild)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.telling([Key::Guild(guild)], self.inner.remove(guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        self.telling([Key::User(member.user)], self.inner.put_member(member)).await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.telling([Key::User(user)], self.inner.remove_member(guild, user)).await
    }
}
