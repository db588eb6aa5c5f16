//! The port over settings.

use super::reading;
use crate::{
    connection::Access,
    storage::DieselStorage,
    table::{
        history::Write,
        records,
        row::{Row as _, SchemaRow},
        settings,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Tally},
    model::GuildId,
    port::{
        ChangeSettingsError, ConfirmSettingsError, ListingScope, Record, SettingsStore, ShardSlice,
        StoreError,
    },
    settings::{Authority, Change, HistoryEntry, Problem, Schema, Stored},
};
use std::{num::NonZeroU32, sync::Arc};

#[async_trait]
impl SettingsStore for DieselStorage {
    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError> {
        self.read(|db, unreadable| Ok(SchemaRow::find(db, &Key::Schema(()), unreadable)?.map(Arc::new))).await
    }

    async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError> {
        let schema = schema.clone();
        self.write(Access::All, move |write| {
            let tally = records::put(write, Record::Schema(schema))?;
            write.applied(tally)
        })
        .await
    }

    async fn find(&self, guild: GuildId) -> Result<Stored, StoreError> {
        self.read(move |db, unreadable| settings::find(db, guild, unreadable)).await
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let change = change.clone();
        let work = move |write: &mut Write<'_>| {
            let schema = SchemaRow::find(write.db, &Key::Schema(()), write.unreadable)?.unwrap_or_default();
            let stored = settings::find(write.db, change.guild, write.unreadable)?;
            let read = |authority: Authority| {
                reading::read(write.db, authority.user, ListingScope::Guild(change.guild), write.unreadable)
            };
            let listing = change.authority.map(read).transpose()?;
            let standing = listing.map(|listing| listing.standing(change.guild));
            let decided = match change.decide(&schema, stored, standing) {
                Ok(decided) => decided,
                Err(rejected) => return Ok(Err(rejected)),
            };
            let stored = decided.stored.clone();
            let tally = settings::store(write, &change, decided)?;
            Ok(Ok((stored, write.applied(tally)?)))
        };
        Ok(self.write(Access::All, work).await??)
    }

    async fn confirm(
        &self,
        guild: GuildId,
        revision: u64,
        problems: &[Problem],
    ) -> Result<Applied, ConfirmSettingsError> {
        let problems = problems.to_vec();
        let work = move |write: &mut Write<'_>| {
            let mut stored = settings::find(write.db, guild, write.unreadable)?;
            let tally = match stored.confirm(revision, problems) {
                Err(current) => return Ok(Err(ConfirmSettingsError::AboveCurrent(current))),
                Ok(false) => Tally::NOTHING,
                Ok(true) => settings::confirm(write, guild, stored)?,
            };
            Ok(Ok(write.applied(tally)?))
        };
        self.write(Access::All, work).await?
    }

    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError> {
        self.read(move |db, unreadable| settings::history(db, guild, unreadable)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError> {
        self.write(Access::All, move |write| {
            let tally = settings::remove(write, guild)?;
            write.applied(tally)
        })
        .await
    }

    async fn page(
        &self,
        slice: Option<ShardSlice>,
        after: Option<GuildId>,
        limit: NonZeroU32,
    ) -> Result<Vec<(GuildId, Stored)>, StoreError> {
        self.snapshot(move |db, unreadable| settings::page(db, slice, after, limit, unreadable)).await
    }
}
