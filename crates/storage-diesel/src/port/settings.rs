//! The port over settings.

use super::reading;
use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    schema::{settings, settings_edits},
    storage::DieselStorage,
    table::{
        column::{Field as _, ID_RANGES, in_shard},
        history::{Write, removed},
        records,
        row::{Columns as _, Row as _, SchemaRow, SettingsEditRow, SettingsRow, Value},
        unreadable::Unreadable,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Key, Subject, Tally},
    model::{GuildId, UserId},
    port::{
        ChangeSettingsError, ConfirmSettingsError, ListingScope, Record, SettingsStore, ShardSlice,
        StoreError,
    },
    settings::{Authority, Change, Decided, HistoryEntry, Problem, Schema, Stored},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
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
        self.read(move |db, unreadable| find(db, guild, unreadable)).await
    }

    async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError> {
        let change = change.clone();
        let work = move |write: &mut Write<'_>| {
            let schema = SchemaRow::find(write.db, &Key::Schema(()), write.unreadable)?.unwrap_or_default();
            let stored = find(write.db, change.guild, write.unreadable)?;
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
            let tally = store(write, &change, decided)?;
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
            let mut stored = find(write.db, guild, write.unreadable)?;
            match stored.confirm(revision, problems) {
                Err(current) => return Ok(Err(ConfirmSettingsError::AboveCurrent(current))),
                Ok(false) => return Ok(Ok(Applied::default())),
                Ok(true) => SettingsRow::of(&(guild, stored)).put(write.db)?,
            };
            write.note(Subject::Applied(guild, revision));
            Ok(Ok(write.applied(Tally::CHANGED)?))
        };
        self.write(Access::All, work).await?
    }

    async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError> {
        let rest = "WHERE guild = ? ORDER BY revision DESC";
        let values = vec![guild.column().into()];
        self.read(move |db, unreadable| Ok(SettingsEditRow::all(db, unreadable, rest, values)?)).await
    }

    async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError> {
        self.write(Access::All, move |write| {
            let of_guild = settings_edits::table.filter(settings_edits::guild.eq(guild.column()));
            diesel::delete(of_guild).execute(write.db)?;
            let gone = diesel::delete(settings::table.find(guild.column())).execute(write.db)?;
            let tally = write.noted(removed(gone), || Subject::Settings(guild, 0));
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
        self.snapshot(move |db, unreadable| page(db, slice, after, limit, unreadable)).await
    }
}

/// Returns the settings of a guild. An unreadable row is an error, because a change would overwrite it.
fn find(db: &mut AnyConnection, guild: GuildId, unreadable: &Unreadable) -> Result<Stored, WorkError> {
    let found = SettingsRow::require(db, &Key::Settings(guild), unreadable)?;
    Ok(found.map(|(_, stored)| stored).unwrap_or_default())
}

/// Stores a decided change with its entry of the history.
fn store(write: &mut Write<'_>, change: &Change, decided: Decided) -> Result<Tally, WorkError> {
    let Decided { stored, changes } = decided;
    if changes.is_empty() {
        return Ok(Tally::NOTHING);
    }
    let (guild, revision) = (change.guild, stored.revision);
    SettingsRow::of(&(guild, stored)).put(write.db)?;
    SettingsEditRow::of(&HistoryEntry { guild, revision, edit: change.edit, changes }).put(write.db)?;
    let oldest = revision.saturating_sub(HistoryEntry::KEPT as u64).cast_signed();
    let of_guild = settings_edits::table.filter(settings_edits::guild.eq(guild.column()));
    diesel::delete(of_guild.filter(settings_edits::revision.le(oldest))).execute(write.db)?;
    Ok(write.noted(Tally::CHANGED, || Subject::Settings(guild, revision)))
}

/// Returns guilds with values after a guild, in the order of their unsigned ids.
fn page(
    db: &mut AnyConnection,
    slice: Option<ShardSlice>,
    after: Option<GuildId>,
    limit: NonZeroU32,
    unreadable: &Unreadable,
) -> Result<Vec<(GuildId, Stored)>, WorkError> {
    let in_slice = slice.map_or_else(|| "TRUE".to_owned(), |slice| in_shard("guild", slice));
    let rest =
        format!("WHERE guild BETWEEN ? AND ? AND content <> '{{}}' AND {in_slice} ORDER BY guild LIMIT ?");
    let after = after.column();
    let mut page = Vec::new();
    for (first, last) in ID_RANGES {
        let mut next = match after {
            Some(after) if (first..=last).contains(&after) => after.checked_add(1),
            // The range lies before the guild.
            Some(after) if after < first => None,
            _ => Some(first),
        };
        while let Some(from) = next.filter(|next| *next <= last) {
            let left = i64::from(limit.get()) - page.len() as i64;
            let rows = SettingsRow::select(db, &rest, [from, last, left].map(Value::from).into())?;
            // Unreadable rows leave room for others.
            next = rows.last().filter(|_| rows.len() as i64 == left).and_then(|row| row.guild.checked_add(1));
            page.extend(unreadable.all(&rows));
            if page.len() as i64 == i64::from(limit.get()) {
                return Ok(page);
            }
        }
    }
    Ok(page)
}

/// Removes a user's name from the history. What was changed stays.
pub(super) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    diesel::update(settings::table.filter(settings::changed_by.eq(user.column())))
        .set(settings::changed_by.eq(None::<i64>))
        .execute(write.db)?;
    let changed = diesel::update(settings_edits::table.filter(settings_edits::made_by.eq(user.column())))
        .set(settings_edits::made_by.eq(None::<i64>))
        .execute(write.db)?;
    Ok(Tally { changed: changed as u64, ..Tally::NOTHING })
}
