//! The schema, the settings of guilds and their history. What is read as a whole is stored as JSON.

use super::{
    column::{ID_RANGES, from_column, in_shard, to_column},
    history::{Write, removed},
    row::{Row, SchemaRow, SettingsEditRow, SettingsRow, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::{settings, settings_edits},
};
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{GuildId, Timestamp, UserId},
    port::ShardSlice,
    settings::{Change, Decided, Edit, HistoryEntry, Problem, Schema, Stored},
};
use diesel::{
    ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper, dsl::sql, sql_types::Bool,
};
use serde::Serialize;
use std::num::NonZeroU32;

/// The key of the only schema.
const SCHEMA: i64 = 1;

fn json(value: &impl Serialize) -> String {
    serde_json::json!(value).to_string()
}

impl From<&Schema> for SchemaRow {
    fn from(schema: &Schema) -> Self {
        Self { id: SCHEMA, content: json(schema) }
    }
}

impl TryFrom<SchemaRow> for Schema {
    type Error = RowError;

    fn try_from(row: SchemaRow) -> Result<Self, RowError> {
        Ok(read!(row.content, |text| serde_json::from_str(text)))
    }
}

impl From<(GuildId, &Stored)> for SettingsRow {
    fn from((guild, stored): (GuildId, &Stored)) -> Self {
        Self {
            guild: to_column(guild),
            revision: stored.revision.cast_signed(),
            content: json(&stored.values),
            changed_at: stored.changed.map(|edit| edit.at.micros()),
            changed_by: stored.changed.and_then(|edit| edit.by).map(to_column),
            changed_via: stored.changed.map(|edit| edit.via.as_str().to_owned()),
            applied: stored.applied.map(u64::cast_signed),
            problems: json(&stored.problems),
        }
    }
}

impl TryFrom<SettingsRow> for (GuildId, Stored) {
    type Error = RowError;

    fn try_from(row: SettingsRow) -> Result<Self, RowError> {
        let by = read!(row.changed_by, |by| by.as_ref().map(from_column::<UserId>).transpose());
        let via = read!(row.changed_via, |via| via.as_deref().map(str::parse).transpose());
        let changed = row.changed_at.zip(via);
        let stored = Stored {
            revision: read!(row.revision, |revision| u64::try_from(*revision)),
            values: read!(row.content, |text| serde_json::from_str(text)),
            changed: changed.map(|(at, via)| Edit { at: Timestamp::from_micros(at), by, via }),
            applied: read!(row.applied, |applied| applied.map(u64::try_from).transpose()),
            problems: read!(row.problems, |text| serde_json::from_str::<Vec<Problem>>(text)),
        };
        Ok((read!(row.guild, from_column), stored))
    }
}

impl From<&HistoryEntry> for SettingsEditRow {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            guild: to_column(entry.guild),
            revision: entry.revision.cast_signed(),
            made_at: entry.edit.at.micros(),
            made_by: entry.edit.by.map(to_column),
            via: entry.edit.via.as_str().to_owned(),
            content: json(&entry.changes),
        }
    }
}

impl TryFrom<SettingsEditRow> for HistoryEntry {
    type Error = RowError;

    fn try_from(row: SettingsEditRow) -> Result<Self, RowError> {
        let edit = Edit {
            at: Timestamp::from_micros(row.made_at),
            by: read!(row.made_by, |by| by.as_ref().map(from_column::<UserId>).transpose()),
            via: read!(row.via, |via| via.parse()),
        };
        Ok(Self {
            guild: read!(row.guild, from_column),
            revision: read!(row.revision, |revision| u64::try_from(*revision)),
            edit,
            changes: read!(row.content, |text| serde_json::from_str(text)),
        })
    }
}

pub(crate) fn schema(db: &mut AnyConnection, unreadable: &Unreadable) -> QueryResult<Option<Schema>> {
    Ok(SchemaRow::stored(db, (SCHEMA,))?.and_then(|row| unreadable.one(row)))
}

pub(crate) fn publish(write: &mut Write<'_>, schema: &Schema) -> Result<Tally, WorkError> {
    let tally = SchemaRow::from(schema).put(write.db)?;
    Ok(write.noted(tally, || Subject::Many(Kind::Schema)))
}

/// Returns the settings of a guild. An unreadable row is an error, because a change would overwrite it.
pub(crate) fn find(db: &mut AnyConnection, guild: GuildId) -> Result<Option<Stored>, WorkError> {
    let row = SettingsRow::stored(db, (to_column(guild),))?;
    Ok(row.map(<(GuildId, Stored)>::try_from).transpose()?.map(|(_, stored)| stored))
}

/// Stores a decided change with its entry of the history.
pub(crate) fn store(write: &mut Write<'_>, change: &Change, decided: Decided) -> Result<Tally, WorkError> {
    let Decided { stored, changes } = decided;
    if changes.is_empty() {
        return Ok(Tally::NOTHING);
    }
    let (guild, revision) = (change.guild, stored.revision);
    SettingsRow::from((guild, &stored)).put(write.db)?;
    SettingsEditRow::from(&HistoryEntry { guild, revision, edit: change.edit, changes }).put(write.db)?;
    let oldest = revision.saturating_sub(HistoryEntry::KEPT as u64).cast_signed();
    let of_guild = settings_edits::table.filter(settings_edits::guild.eq(to_column(guild)));
    diesel::delete(of_guild.filter(settings_edits::revision.le(oldest))).execute(write.db)?;
    Ok(write.noted(Tally::CHANGED, || Subject::Settings(guild, revision)))
}

pub(crate) fn confirm(write: &mut Write<'_>, guild: GuildId, stored: &Stored) -> Result<Tally, WorkError> {
    SettingsRow::from((guild, stored)).put(write.db)?;
    Ok(write.noted(Tally::CHANGED, || Subject::Applied(guild, stored.applied.unwrap_or_default())))
}

pub(crate) fn history(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> QueryResult<Vec<HistoryEntry>> {
    let rows: Vec<SettingsEditRow> = settings_edits::table
        .filter(settings_edits::guild.eq(to_column(guild)))
        .order(settings_edits::revision.desc())
        .select(SettingsEditRow::as_select())
        .load(db)?;
    Ok(unreadable.all(rows))
}

/// Returns the entry of the history that made a revision.
pub(crate) fn entry(
    db: &mut AnyConnection,
    guild: GuildId,
    revision: u64,
    unreadable: &Unreadable,
) -> QueryResult<Option<HistoryEntry>> {
    let row = SettingsEditRow::stored(db, (to_column(guild), revision.cast_signed()))?;
    Ok(row.and_then(|row| unreadable.one(row)))
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
) -> QueryResult<Vec<(GuildId, Stored)>> {
    let in_slice = slice.map_or_else(|| "TRUE".to_owned(), |slice| in_shard("guild", slice));
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
            let rows: Vec<SettingsRow> = settings::table
                .filter(settings::guild.between(from, last))
                .filter(settings::content.ne("{}"))
                .filter(sql::<Bool>(&in_slice))
                .order(settings::guild)
                .limit(left)
                .select(SettingsRow::as_select())
                .load(db)?;
            // Unreadable rows leave room for others.
            next = rows.last().filter(|_| rows.len() as i64 == left).and_then(|row| row.guild.checked_add(1));
            page.extend(unreadable.all::<_, (GuildId, Stored)>(rows));
            if page.len() as i64 == i64::from(limit.get()) {
                return Ok(page);
            }
        }
    }
    Ok(page)
}

/// Returns the entries of the history that a user made.
pub(crate) fn by_user(
    db: &mut AnyConnection,
    user: UserId,
    unreadable: &Unreadable,
) -> QueryResult<Vec<HistoryEntry>> {
    let rows: Vec<SettingsEditRow> = settings_edits::table
        .filter(settings_edits::made_by.eq(to_column(user)))
        .order((settings_edits::guild, settings_edits::revision))
        .select(SettingsEditRow::as_select())
        .load(db)?;
    Ok(unreadable.all(rows))
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
