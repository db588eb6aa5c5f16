//! The schema, the settings of guilds and their history.

use crate::{
    state::MemoryStorage,
    tables::{Named, Tables},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Journal, Key, Kind, Subject, Tally},
    model::{GuildId, UserId},
    port::{
        ChangeSettingsError, ConfirmSettingsError, ListingScope, Record, SettingsStore, ShardSlice,
        StoreError,
    },
    settings::{Change, Decided, HistoryEntry, Problem, Schema, Stored},
};
use std::{num::NonZeroU32, sync::Arc};

impl Tables {
    fn settings(&self, guild: GuildId) -> Stored {
        self.content(&Key::Settings(guild)).cloned().unwrap_or_default()
    }

    /// Returns the history of a guild, newest first. Its revisions have no gaps.
    fn settings_history(&self, guild: GuildId) -> impl Iterator<Item = &HistoryEntry> {
        let revisions = (1..=self.settings(guild).revision).rev();
        revisions.map_while(move |revision| self.content(&Key::SettingsEdit(guild, revision)))
    }

    /// Removes a user's name from the history and from the settings that they changed last.
    pub(crate) fn forget_editor(&mut self, user: UserId) -> Tally {
        let mut tally = Tally::NOTHING;
        let entries = self.naming(Named::User(user)).filter_map(|key| self.content(key)).cloned();
        for mut entry in entries.collect::<Vec<HistoryEntry>>() {
            let mut stored = self.settings(entry.guild);
            if let Some(edit) = stored.changed.as_mut().filter(|edit| edit.by == Some(user)) {
                edit.by = None;
                self.set(Record::Settings(entry.guild, stored));
            }
            entry.edit.by = None;
            tally += self.set(Record::SettingsEdit(entry));
        }
        tally
    }

    /// Stores a decided change with its history entry.
    fn store(&mut self, change: &Change, decided: Decided, journal: &mut Journal) -> Tally {
        let Decided { stored, changes } = decided;
        if changes.is_empty() {
            return Tally::NOTHING;
        }
        let (guild, revision) = (change.guild, stored.revision);
        self.set(Record::SettingsEdit(HistoryEntry { guild, revision, edit: change.edit, changes }));
        if let Some(oldest) = revision.checked_sub(HistoryEntry::KEPT as u64) {
            self.unset(&Key::SettingsEdit(guild, oldest));
        }
        self.set(Record::Settings(guild, stored));
        journal.noted(Tally::CHANGED, || Subject::Settings(guild, revision))
    }
}

#[async_trait]
impl SettingsStore for MemoryStorage {
    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError> {
        Ok(self.read().content::<Schema>(&Key::Schema(())).cloned().map(Arc::new))
    }

    async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| Ok(state.put(Record::Schema(schema.clone()), journal)))
    }

    async fn find(&self, guild: GuildId) -> Result<Stored, StoreError> {
        Ok(self.read().settings(guild))
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let mut after = Stored::default();
        let applied = self.apply_with(|state, journal| {
            let schema = state.content::<Schema>(&Key::Schema(())).cloned().unwrap_or_default();
            let stored = state.settings(change.guild);
            let standing = change.authority.map(|authority| {
                state.listing(authority.user, ListingScope::Guild(change.guild)).standing(change.guild)
            });
            let decided = change.decide(&schema, stored, standing)?;
            after = decided.stored.clone();
            Ok::<_, ChangeSettingsError>(state.store(change, decided, journal))
        })?;
        Ok((after, applied))
    }

    async fn confirm(
        &self,
        guild: GuildId,
        revision: u64,
        problems: &[Problem],
    ) -> Result<Applied, ConfirmSettingsError> {
        self.apply_with(|state, journal| {
            let mut after = state.settings(guild);
            let differs =
                after.confirm(revision, problems.to_vec()).map_err(ConfirmSettingsError::AboveCurrent)?;
            if !differs {
                return Ok(Tally::NOTHING);
            }
            state.set(Record::Settings(guild, after));
            Ok(journal.noted(Tally::CHANGED, || Subject::Applied(guild, revision)))
        })
    }

    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError> {
        Ok(self.read().settings_history(guild).cloned().collect())
    }

    async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| {
            let edits = state.settings_history(guild).map(|entry| Key::SettingsEdit(guild, entry.revision));
            for edit in edits.collect::<Vec<_>>() {
                state.unset(&edit);
            }
            Ok(journal.noted(state.unset(&Key::Settings(guild)), || Subject::Settings(guild, 0)))
        })
    }

    async fn page(
        &self,
        slice: Option<ShardSlice>,
        after: Option<GuildId>,
        limit: NonZeroU32,
    ) -> Result<Vec<(GuildId, Stored)>, StoreError> {
        let state = self.read();
        let wanted = |guild: &GuildId| {
            after.is_none_or(|after| *guild > after) && slice.is_none_or(|slice| slice.has(*guild))
        };
        let settings = state.all(Kind::Settings).filter_map(|record| match record {
            Record::Settings(guild, stored) if wanted(guild) && !stored.values.is_empty() => {
                Some((*guild, stored.clone()))
            }
            _ => None,
        });
        Ok(settings.take(limit.get() as usize).collect())
    }
}
