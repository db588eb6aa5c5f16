//! Settings of guilds, and the schema that says what they are.

use super::{ShardSlice, StoreError};
use crate::{
    change::Applied,
    model::GuildId,
    settings::{Change, HistoryEntry, Problem, Rejected, Schema, Stored},
};
use async_trait::async_trait;
use std::{num::NonZeroU32, sync::Arc};

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeSettingsError {
    /// The change is not allowed, outdated or wrong.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a confirmation was not stored.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmSettingsError {
    /// The settings have this revision, which is lower than the confirmed one.
    #[error("the settings have revision {0}")]
    AboveCurrent(u64),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Stores the schema, and for each guild the values, the last confirmation of the bot and the history. All of it outlives
/// the guild's own record.
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// Returns the published schema. `None` before the first.
    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError>;

    /// Publishes a schema in place of the last one. One that is equal changes nothing.
    async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError>;

    /// Returns the settings of a guild: revision 0 and no values if none were ever set.
    async fn find(&self, guild: GuildId) -> Result<Stored, StoreError>;

    /// Changes values, as [`Change::decide`] decides by the schema, the settings and the user's listing of this moment, and
    /// appends to the history. All of it is one atomic step, like the entry of the change feed.
    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError>;

    /// Stores what [`Stored::confirm`] makes of a confirmation.
    async fn confirm(
        &self,
        guild: GuildId,
        revision: u64,
        problems: &[Problem],
    ) -> Result<Applied, ConfirmSettingsError>;

    /// Returns the last [`HistoryEntry::KEPT`] entries of the history, newest first.
    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError>;

    /// Removes the values, the confirmation and the history of a guild.
    async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError>;

    /// Returns up to `limit` readable guilds with values after a guild, ordered by id, of one shard if a slice is given.
    /// Fewer than `limit` means that no more follow.
    async fn page(
        &self,
        slice: Option<ShardSlice>,
        after: Option<GuildId>,
        limit: NonZeroU32,
    ) -> Result<Vec<(GuildId, Stored)>, StoreError>;
}
