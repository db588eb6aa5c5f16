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
    /// Returns the history of a guild, newest first. Its revisions have no gaps.
    pub(crate) fn settings_history(&self, guild: GuildId) -> impl Iterator<Item = &HistoryEntry> {
        (1..=self.settings(guild).revision).rev().map_while(move |revision| self.edit(guild, revision))
    }

    /// Removes a user's name from the history and from the settings that they changed last.
    pub(crate) fn forget_editor(&mut self, user: UserId) -> Tally {
        let mut tally = Tally::NOTHING;
        let edits = self.naming(Named::User(user)).filter_map(|key| self.get(key)).cloned();
        for edit in edits.collect::<Vec<_>>() {
            let Record::SettingsEdit(mut entry) = edit else { continue };
            entry.edit.by = None;
            if let Some(Record::Settings(guild, mut stored)) = self.get(&Key::Settings(entry.guild)).cloned()
            {
                stored.changed =
                    stored.changed.map(|edit| if edit.by == Some(user) { entry.edit } else { edit });
                self.set(Record::Settings(guild, stored));
            }
            tally += self.set(Record::SettingsEdit(entry));
        }
        tally
    }

    fn remove_settings(&mut self, guild: GuildId) -> Tally {
        let revisions: Vec<_> = self.settings_history(guild).map(|entry| entry.revision).collect();
        for revision in revisions {
            self.unset(&Key::SettingsEdit(guild, revision));
        }
        self.unset(&Key::Settings(guild))
    }
}

#[async_trait]
impl SettingsStore for MemoryStorage {
    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError> {
        Ok(self.read().schema().cloned().map(Arc::new))
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
            let schema = state.schema().cloned().unwrap_or_default();
            let stored = state.settings(change.guild);
            let standing = change.authority.map(|authority| {
                state.listing(authority.user, ListingScope::Guild(change.guild)).standing(change.guild)
            });
            let decided = change.decide(&schema, stored, standing)?;
            after = decided.stored.clone();
            Ok::<_, ChangeSettingsError>(store(state, change, decided, journal))
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
            Ok(journal.noted(state.remove_settings(guild), || Subject::Settings(guild, 0)))
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

/// Stores a decided change with its history entry.
fn store(state: &mut Tables, change: &Change, decided: Decided, journal: &mut Journal) -> Tally {
    let Decided { stored, changes } = decided;
    if changes.is_empty() {
        return Tally::NOTHING;
    }
    let (guild, revision) = (change.guild, stored.revision);
    let entry = HistoryEntry { guild, revision, edit: change.edit, changes };
    state.set(Record::SettingsEdit(entry));
    if let Some(oldest) = revision.checked_sub(HistoryEntry::KEPT as u64) {
        state.unset(&Key::SettingsEdit(guild, oldest));
    }
    state.set(Record::Settings(guild, stored));
    journal.noted(Tally::CHANGED, || Subject::Settings(guild, revision))
}
