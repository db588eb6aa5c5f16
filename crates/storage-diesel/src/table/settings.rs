//! The schema, the settings of guilds and their history. What is read as a whole is stored as JSON.

use super::{
    column::{ID_RANGES, from_column, in_shard, to_column},
    history::{Write, removed},
    row::{Columns as _, Row, SchemaRow, SettingsEditRow, SettingsRow, Value, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{settings, settings_edits},
};
use companion_domain::{
    change::{Key, Subject, Tally},
    model::{GuildId, Timestamp, UserId},
    port::ShardSlice,
    settings::{Change, Decided, Edit, HistoryEntry, Problem, Schema, Stored},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use serde::Serialize;
use std::num::NonZeroU32;

/// The key of the only schema.
pub(super) const SCHEMA: i64 = 1;

fn json(value: &impl Serialize) -> String {
    serde_json::json!(value).to_string()
}

impl Row for SchemaRow {
    type Value = Schema;

    fn of(schema: &Schema) -> Self {
        Self { id: SCHEMA, content: json(schema) }
    }

    fn read(&self, _: &Unreadable) -> Result<Schema, RowError> {
        Ok(read!(self.content, |text| serde_json::from_str(text)))
    }
}

impl Row for SettingsRow {
    type Value = (GuildId, Stored);

    fn of((guild, stored): &(GuildId, Stored)) -> Self {
        Self {
            guild: to_column(*guild),
            revision: stored.revision.cast_signed(),
            content: json(&stored.values),
            changed_at: stored.changed.map(|edit| edit.at.micros()),
            changed_by: stored.changed.and_then(|edit| edit.by).map(to_column),
            changed_via: stored.changed.map(|edit| edit.via.as_str().to_owned()),
            applied: stored.applied.map(u64::cast_signed),
            problems: json(&stored.problems),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<(GuildId, Stored), RowError> {
        let by = read!(self.changed_by, |by| by.as_ref().map(from_column::<UserId>).transpose());
        let via = read!(self.changed_via, |via| via.as_deref().map(str::parse).transpose());
        let changed = self.changed_at.zip(via);
        let stored = Stored {
            revision: read!(self.revision, |revision| u64::try_from(*revision)),
            values: read!(self.content, |text| serde_json::from_str(text)),
            changed: changed.map(|(at, via)| Edit { at: Timestamp::from_micros(at), by, via }),
            applied: read!(self.applied, |applied| applied.map(u64::try_from).transpose()),
            problems: read!(self.problems, |text| serde_json::from_str::<Vec<Problem>>(text)),
        };
        Ok((read!(self.guild, from_column), stored))
    }
}

impl Row for SettingsEditRow {
    type Value = HistoryEntry;

    fn of(entry: &HistoryEntry) -> Self {
        Self {
            guild: to_column(entry.guild),
            revision: entry.revision.cast_signed(),
            made_at: entry.edit.at.micros(),
            made_by: entry.edit.by.map(to_column),
            via: entry.edit.via.as_str().to_owned(),
            content: json(&entry.changes),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<HistoryEntry, RowError> {
        let edit = Edit {
            at: Timestamp::from_micros(self.made_at),
            by: read!(self.made_by, |by| by.as_ref().map(from_column::<UserId>).transpose()),
            via: read!(self.via, |via| via.parse()),
        };
        Ok(HistoryEntry {
            guild: read!(self.guild, from_column),
            revision: read!(self.revision, |revision| u64::try_from(*revision)),
            edit,
            changes: read!(self.content, |text| serde_json::from_str(text)),
        })
    }
}

/// Returns the settings of a guild. An unreadable row is an error, because a change would overwrite it.
pub(crate) fn find(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> Result<Stored, WorkError> {
    let found = SettingsRow::require(db, &Key::Settings(guild), unreadable)?;
    Ok(found.map(|(_, stored)| stored).unwrap_or_default())
}

/// Stores a decided change with its entry of the history.
pub(crate) fn store(write: &mut Write<'_>, change: &Change, decided: Decided) -> Result<Tally, WorkError> {
    let Decided { stored, changes } = decided;
    if changes.is_empty() {
        return Ok(Tally::NOTHING);
    }
    let (guild, revision) = (change.guild, stored.revision);
    SettingsRow::of(&(guild, stored)).put(write.db)?;
    SettingsEditRow::of(&HistoryEntry { guild, revision, edit: change.edit, changes }).put(write.db)?;
    let oldest = revision.saturating_sub(HistoryEntry::KEPT as u64).cast_signed();
    let of_guild = settings_edits::table.filter(settings_edits::guild.eq(to_column(guild)));
    diesel::delete(of_guild.filter(settings_edits::revision.le(oldest))).execute(write.db)?;
    Ok(write.noted(Tally::CHANGED, || Subject::Settings(guild, revision)))
}

pub(crate) fn confirm(write: &mut Write<'_>, guild: GuildId, stored: Stored) -> Result<Tally, WorkError> {
    let revision = stored.applied.unwrap_or_default();
    SettingsRow::of(&(guild, stored)).put(write.db)?;
    Ok(write.noted(Tally::CHANGED, || Subject::Applied(guild, revision)))
}

pub(crate) fn history(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> Result<Vec<HistoryEntry>, WorkError> {
    let rest = "WHERE guild = ? ORDER BY revision DESC";
    Ok(SettingsEditRow::all(db, unreadable, rest, vec![to_column(guild).into()])?)
}

pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, WorkError> {
    let of_guild = settings_edits::table.filter(settings_edits::guild.eq(to_column(guild)));
    diesel::delete(of_guild).execute(write.db)?;
    let gone = diesel::delete(settings::table.find(to_column(guild))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Settings(guild, 0)))
}

/// Returns guilds with values after a guild, in the order of their unsigned ids.
pub(crate) fn page(
    db: &mut AnyConnection,
    slice: Option<ShardSlice>,
    after: Option<GuildId>,
    limit: NonZeroU32,
    unreadable: &Unreadable,
) -> Result<Vec<(GuildId, Stored)>, WorkError> {
    let in_slice = slice.map_or_else(|| "TRUE".to_owned(), |slice| in_shard("guild", slice));
    let rest =
        format!("WHERE guild BETWEEN ? AND ? AND content <> '{{}}' AND {in_slice} ORDER BY guild LIMIT ?");
    let after = after.map(to_column);
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
pub(crate) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    diesel::update(settings::table.filter(settings::changed_by.eq(to_column(user))))
        .set(settings::changed_by.eq(None::<i64>))
        .execute(write.db)?;
    let changed = diesel::update(settings_edits::table.filter(settings_edits::made_by.eq(to_column(user))))
        .set(settings_edits::made_by.eq(None::<i64>))
        .execute(write.db)?;
    Ok(Tally { changed: changed as u64, ..Tally::NOTHING })
}
