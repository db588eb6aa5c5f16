//! Wrong stores of settings.

use crate::conformance::proof::{Rendezvous, faults, locked, with};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Tally},
    model::GuildId,
    port::{ChangeSettingsError, ConfirmSettingsError, SettingsStore, ShardSlice, StoreError, Stores},
    settings::{Change, HistoryEntry, Problem, Rejected, Schema, Stored, Value},
};
use companion_testkit::{
    conformance::Fresh,
    over::{Over, SettingsStoreOver},
};
use std::{
    num::NonZeroU32,
    sync::{Arc, Mutex},
};

faults! {
    fn proofs, enum SettingsFault {}
    settings_store(wrong_settings) {
        returns_the_last_published_schema:
            SchemaFromTheStart "there is a schema before the first",
            FirstSchemaStays "a schema cannot be replaced",
            EqualSchemaCounts "publishing the same schema again is a change";
        returns_values_exactly_as_they_were_set:
            TrimmedText "text is trimmed",
            SortedLists "lists are sorted",
            SinglePrecision "numbers lose precision",
            AlwaysRaises "every change raises the revision";
        a_change_is_one_step_and_the_history_keeps_the_last_fifty:
            NoHistory "the history is empty",
            OldestFirst "the history has the oldest entry first",
            KeepsFewer "the history keeps ten changes",
            NotReported "a change does not return what it changed";
        an_outdated_or_wrong_change_changes_nothing:
            IgnoresTheRevision "the expected revision is ignored",
            DropsWrongValues "wrong values are left out, and the others are set";
        concurrent_changes_are_made_one_after_the_other: ChecksFirst "the revision is compared in a step of its own";
        a_user_is_judged_by_what_is_stored:
            EveryoneMay "the user is not judged",
            AnyList "the age of the list is ignored";
        a_confirmation_never_lowers_and_repeats_nothing:
            Lowers "a confirmation of an older revision is stored",
            ConfirmsAhead "a revision that does not exist is confirmed",
            ForgetsProblems "problems are not stored";
        only_a_removal_ends_values_confirmation_and_history: RemovesValuesOnly "the history survives removal";
        pages_contain_each_guild_with_values_once_by_id:
            PagesRepeat "a page begins with the guild that it should follow",
            PagesIgnoreTheShard "pages contain guilds of every shard";
        forgetting_a_user_keeps_what_they_changed: KeepsNames "the history keeps the name";
    }
}

fn wrong_settings(fault: SettingsFault) -> Fresh<Stores> {
    with(|stores| {
        let (inner, before) = (Arc::clone(&stores.settings), Mutex::default());
        stores.settings = Arc::new(Over(Wrong { fault, inner, readers: Rendezvous::default(), before }));
    })
}

struct Wrong {
    fault: SettingsFault,
    inner: Arc<dyn SettingsStore>,
    /// Callers that have compared the revision.
    readers: Rendezvous,
    /// Guilds that had values once.
    before: Mutex<Vec<(GuildId, Stored)>>,
}

impl Wrong {
    fn is(&self, fault: SettingsFault) -> bool {
        self.fault == fault
    }

    fn spoil(&self, value: Value) -> Value {
        match value {
            Value::Text(text) if self.is(SettingsFault::TrimmedText) => {
                Value::Text(text.trim_end().trim_end_matches("--").into())
            }
            Value::List(mut list) if self.is(SettingsFault::SortedLists) => {
                list.sort_unstable();
                Value::List(list)
            }
            Value::Number(number) if self.is(SettingsFault::SinglePrecision) => {
                Value::Number((number as f32).into())
            }
            other => other,
        }
    }

    /// The change as this adapter makes it.
    fn changed(&self, change: &Change) -> Change {
        let mut change = change.clone();
        for value in change.values.values_mut() {
            *value = value.take().map(|value| self.spoil(value));
        }
        if self.is(SettingsFault::IgnoresTheRevision) {
            change.expected = None;
        }
        if self.is(SettingsFault::EveryoneMay) {
            change.authority = None;
        }
        if let (true, Some(authority)) = (self.is(SettingsFault::AnyList), &mut change.authority) {
            authority.list_since = companion_domain::model::Timestamp::EPOCH;
        }
        change
    }
}

#[async_trait]
impl SettingsStoreOver for Wrong {
    fn settings(&self) -> &dyn SettingsStore {
        &*self.inner
    }

    async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError> {
        let schema = self.inner.schema().await?;
        Ok(if self.is(SettingsFault::SchemaFromTheStart) { Some(schema.unwrap_or_default()) } else { schema })
    }

    async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError> {
        if self.is(SettingsFault::FirstSchemaStays)
            && let Some(first) = self.inner.schema().await?
        {
            return self.inner.publish(&first).await;
        }
        let applied = self.inner.publish(schema).await?;
        if self.is(SettingsFault::EqualSchemaCounts) {
            return Ok(Applied { tally: Tally::CHANGED, ..applied });
        }
        Ok(applied)
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let mut change = self.changed(change);
        if self.is(SettingsFault::ChecksFirst)
            && let Some(expected) = change.expected.take()
        {
            let current = self.inner.find(change.guild).await?.revision;
            if current != expected {
                return Err(Rejected::Outdated(current).into());
            }
            self.readers.wait().await;
        }
        let mut outcome = self.inner.change(&change).await;
        if let (true, Err(ChangeSettingsError::Rejected(Rejected::Invalid(errors)))) =
            (self.is(SettingsFault::DropsWrongValues), &outcome)
        {
            let wrong: Vec<_> = errors.iter().map(|error| error.path.clone()).collect();
            change.values.retain(|key, _| !wrong.contains(&format!("values.{key}")));
            self.inner.change(&change).await?;
        }
        if let Ok((stored, applied)) = &mut outcome {
            locked(&self.before).push((change.guild, stored.clone()));
            if self.is(SettingsFault::NotReported) {
                applied.changes.clear();
            }
            if self.is(SettingsFault::AlwaysRaises) && applied.changes.is_empty() {
                stored.revision += 1;
            }
        }
        outcome
    }

    async fn confirm(
        &self,
        guild: GuildId,
        revision: u64,
        problems: &[Problem],
    ) -> Result<Applied, ConfirmSettingsError> {
        let problems = if self.is(SettingsFault::ForgetsProblems) { &[] } else { problems };
        let current = self.inner.find(guild).await?;
        if self.is(SettingsFault::ConfirmsAhead) {
            return self.inner.confirm(guild, revision.min(current.revision), problems).await;
        }
        let mut applied = self.inner.confirm(guild, revision, problems).await?;
        if self.is(SettingsFault::Lowers) && current.applied > Some(revision) {
            applied.tally = Tally::CHANGED;
        }
        Ok(applied)
    }

    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError> {
        let mut history = self.inner.history(guild).await?;
        match self.fault {
            SettingsFault::NoHistory => history.clear(),
            SettingsFault::OldestFirst => history.reverse(),
            SettingsFault::KeepsFewer => history.truncate(10),
            SettingsFault::RemovesValuesOnly => {
                let before = locked(&self.before);
                let kept = before.iter().find(|(known, _)| *known == guild);
                let edit = kept.and_then(|(_, stored)| stored.changed);
                if let (true, Some(edit)) = (history.is_empty(), edit) {
                    history.push(HistoryEntry { guild, revision: 1, edit, changes: Vec::new() });
                }
            }
            SettingsFault::KeepsNames => {
                for (entry, (_, stored)) in history.iter_mut().rev().zip(&*locked(&self.before)) {
                    entry.edit = stored.changed.unwrap_or(entry.edit);
                }
            }
            _ => {}
        }
        Ok(history)
    }

    async fn page(
        &self,
        slice: Option<ShardSlice>,
        after: Option<GuildId>,
        limit: NonZeroU32,
    ) -> Result<Vec<(GuildId, Stored)>, StoreError> {
        let slice = slice.filter(|_| !self.is(SettingsFault::PagesIgnoreTheShard));
        let mut page = self.inner.page(slice, after, limit).await?;
        if let (true, Some(after), false) = (self.is(SettingsFault::PagesRepeat), after, page.is_empty()) {
            page.insert(0, (after, self.inner.find(after).await?));
            page.truncate(limit.get() as usize);
        }
        Ok(page)
    }
}
