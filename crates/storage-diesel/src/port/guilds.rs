//! Guilds that have the bot, and the roles of their members.

use crate::{
    storage::DieselStorage,
    table::{guilds, members},
};
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Guild, GuildId, Member, UserId},
    port::{GuildDirectory, GuildSeen, StoreError},
};
use std::sync::Arc;

#[async_trait]
impl GuildDirectory for DieselStorage {
    async fn seen_by(&self, user: UserId, asked: &[GuildId]) -> Result<Vec<GuildSeen>, StoreError> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let (asked, unreadable) = (asked.to_vec(), self.unreadable());
        self.snapshot(move |db| Ok(guilds::seen_by(db, user, &asked, &unreadable)?)).await
    }

    async fn find(&self, guild: GuildId) -> Result<Option<Arc<Guild>>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(guilds::find(db, guild, &unreadable)?.map(Arc::new))).await
    }

    async fn put(&self, guild: &Guild) -> Result<Tally, StoreError> {
        let guild = guild.clone();
        self.write(move |write| guilds::put(write, &guild)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Tally, StoreError> {
        self.write(move |write| guilds::remove(write, guild)).await
    }

    async fn put_member(&self, member: &Member) -> Result<Option<Tally>, StoreError> {
        let member = member.clone();
        self.write(move |write| {
            let known = guilds::is_known(write.db, member.guild)?;
            known.then(|| members::put(write, &member)).transpose()
        })
        .await
    }

    async fn remove_member(&self, guild: GuildId, user: UserId) -> Result<Option<Tally>, StoreError> {
        self.write(move |write| {
            let known = guilds::is_known(write.db, guild)?;
            known.then(|| members::remove(write, guild, user)).transpose()
        })
        .await
    }
}
