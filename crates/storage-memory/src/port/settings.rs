//! The schema, the settings of guilds and their history.

use crate::{
    journal::Journal,
    keyed::{Table, noted},
    state::{MemoryStorage, Tables},
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Subject, Tally},
    model::{GuildId, UserId},
    port::{ChangeSettingsError, ConfirmSettingsError, ListingScope, SettingsStore, ShardSlice, StoreError},
    settings::{Change, HistoryEntry, Problem, Schema, Stored},
};
use std::{num::NonZeroU32, sync::Arc};

impl Tables {
    /// Returns the history of a guild, newest first. Its revisions have no gaps.
    pub(crate) fn settings_history(&self, guild: GuildId) -> impl Iterator<Item = &HistoryEntry> {
        let newest = self.settings.get(&guild).map_or(0, |stored| stored.revision);
        (1..=newest).rev().map_while(move |revision| self.settings_edits.get(&(guild, revision)))
    }

    /// Removes a user's name from the history and from the settings that they changed last.
    pub(crate) fn forget_editor(&mut self, user: UserId) -> Tally {
        let mut tally = Tally::NOTHING;
        let by_user = |(_, entry): &(&_, &HistoryEntry)| entry.edit.by == Some(user);
        let entries: Vec<_> = self.settings_edits.iter().filter(by_user).map(|(_, it)| it.clone()).collect();
        for mut entry in entries {
            entry.edit.by = None;
            if let Some(mut stored) = self.settings.get(&entry.guild).cloned() {
                stored.changed =
                    stored.changed.map(|edit| if edit.by == Some(user) { entry.edit } else { edit });
                self.settings.set(entry.guild, stored);
            }
            tally += self.settings_edits.set((entry.guild, entry.revision), entry);
        }
        tally
    }

    fn remove_settings(&mut self, guild: GuildId) -> Tally {
        let revisions: Vec<_> = self.settings_history(guild).map(|entry| entry.revision).collect();
        for revision in revisions {
            self.settings_edits.unset(&(guild, revision));
        }
        self.settings.unset(&guild)
    }
}

#[async_trait]
impl SettingsStore for MemoryStorage {
    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError> {
        Ok(self.read().schema.get(&()).cloned())
    }

    async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| Ok(state.schema.put((), Arc::new(schema.clone()), journal)))
    }

    async fn find(&self, guild: GuildId) -> Result<Stored, StoreError> {
        Ok(self.read().settings.get(&guild).cloned().unwrap_or_default())
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let mut after = Stored::default();
        let applied = self.apply_with(|state, journal| {
            let schema = state.schema.get(&()).cloned().unwrap_or_default();
            let stored = state.settings.get(&change.guild).cloned().unwrap_or_default();
            let decided = change.decide(&schema, stored, |user| {
                Ok::<_, ChangeSettingsError>(
                    state.listing(user, ListingScope::Guild(change.guild)).standing(change.guild),
                )
            })?;
            after = decided.stored.clone();
            Ok::<_, ChangeSettingsError>(store(state, change, decided.stored, decided.changes, journal))
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
            let mut after = state.settings.get(&guild).cloned().unwrap_or_default();
            let differs =
                after.confirm(revision, problems.to_vec()).map_err(ConfirmSettingsError::AboveCurrent)?;
            if !differs {
                return Ok(Tally::NOTHING);
            }
            state.settings.set(guild, after);
            Ok(noted(Tally::CHANGED, Subject::Applied(guild, revision), journal))
        })
    }

    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError> {
        Ok(self.read().settings_history(guild).cloned().collect())
    }

    async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError> {
        self.apply_with(|state, journal| {
            Ok(noted(state.remove_settings(guild), Subject::Settings(guild, 0), journal))
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
        let rows = state.settings.iter().filter(|(guild, stored)| wanted(guild) && !stored.values.is_empty());
        let mut page: Vec<_> = rows.map(|(guild, stored)| (*guild, stored.clone())).collect();
        page.sort_unstable_by_key(|(guild, _)| *guild);
        page.truncate(limit.get() as usize);
        Ok(page)
    }
}

/// Stores a decided change with its history entry.
fn store(
    state: &mut Tables,
    change: &Change,
    stored: Stored,
    changes: Vec<companion_domain::settings::ChangedField>,
    journal: &mut Journal,
) -> Tally {
    if changes.is_empty() {
        return Tally::NOTHING;
    }
    let (guild, revision) = (change.guild, stored.revision);
    let entry = HistoryEntry { guild, revision, edit: change.edit, changes };
    state.settings_edits.set((guild, revision), entry);
    if let Some(oldest) = revision.checked_sub(HistoryEntry::KEPT as u64) {
        state.settings_edits.unset(&(guild, oldest));
    }
    state.settings.set(guild, stored);
    noted(Tally::CHANGED, Subject::Settings(guild, revision), journal)
}
