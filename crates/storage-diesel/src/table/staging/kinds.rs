//! How each kind of record is merged.

use super::merge::{Merge, Op, Scope};
use crate::{
    connection::AnyConnection,
    failure::WorkError,
    schema::ColumnType,
    table::{
        column::in_shard,
        feedback::slots,
        history::{self, Write},
        records::table_of,
        row::{
            Columns as _, FeedbackRow, GrantRow, GuildRow, RowKey, SubscriptionGuildRow, Table, Value, each,
        },
    },
};
use companion_domain::{
    change::{Kind, Subject, Tally, max_named},
    model::Rating,
    port::{Replace, ShardSlice},
};
use diesel::{
    OptionalExtension, QueryResult, RunQueryDsl,
    connection::SimpleConnection,
    dsl::sql,
    sql_query,
    sql_types::{BigInt, Binary, Nullable, Text},
};
use std::collections::BTreeMap;

/// Returns how a kind is merged, or `None` if no record has this kind.
pub(crate) fn merge_of(kind: Kind, replace: &Replace) -> Option<Merge> {
    let goes_with_guild = kind.is_of_guild() && replace.kinds.contains(&Kind::Guild);
    Some(Merge {
        kind,
        table: table_of(kind)?,
        also_set: if kind == Kind::Grant { ", claim_until = NULL" } else { "" },
        covered: covered(kind, replace),
        except: goes_with_guild.then(of_removed_guild),
    })
}

/// Returns the condition for rows that are deleted unless staged.
fn covered(kind: Kind, replace: &Replace) -> Option<String> {
    let guild = match kind {
        Kind::Guild => Some("id"),
        _ if kind.is_of_guild() => Some("guild"),
        _ => None,
    };
    let in_slice = |(column, slice): (&str, ShardSlice)| in_shard(&format!("{{}}.{column}"), slice);
    let covered = guild.zip(replace.shard).map_or_else(|| "TRUE".to_owned(), in_slice);
    replace.kinds.contains(&kind).then_some(covered)
}

/// Writes the differing rows, and notes their subjects up to the limit of named changes.
pub(crate) fn write(write: &mut Write<'_>, merge: &Merge) -> Result<Tally, WorkError> {
    before(write, merge)?;
    let mut tally = Tally::NOTHING;
    for op in Op::ALL {
        let rows = format!("FROM {} WHERE op = {}", merge.table.differing(), op.number());
        let subjects = subjects(write.db, merge.kind, merge.table, &rows)?;
        if !subjects.is_empty() {
            for subject in subjects {
                write.note(subject);
            }
            tally += merge.write(write.db, op)?;
        }
    }
    after(write, merge, tally)?;
    Ok(tally)
}

/// Returns the subjects of rows, which follow `SELECT` and their keys in a statement. There is at most one more than the
/// limit of named changes, to show that it was exceeded.
fn subjects(db: &mut AnyConnection, kind: Kind, table: &Table, rows: &str) -> QueryResult<Vec<Subject>> {
    let select = |form: &str| {
        let keys = each(table.keys.iter().copied(), form, ", ");
        format!("SELECT {keys} {rows} LIMIT {}", max_named(kind) + 1)
    };
    let keys: Vec<RowKey> = if kind == Kind::Session {
        let ids: Vec<Vec<u8>> = sql::<Binary>(&select("{}")).load(db)?;
        ids.into_iter().map(|id| RowKey(vec![id.into()])).collect()
    } else {
        let select = select("CAST({} AS TEXT)");
        let rows: Vec<Vec<String>> = if table.keys.len() == 1 {
            sql::<Text>(&select).load(db)?.into_iter().map(|key: String| vec![key]).collect()
        } else {
            let rows: Vec<(String, String)> = sql::<(Text, Text)>(&select).load(db)?;
            rows.into_iter().map(|(one, other)| vec![one, other]).collect()
        };
        let value = |(text, key): (String, &&str)| match table.type_of(key) {
            Some(ColumnType::BigInt) => Value::BigInt(text.parse().ok()),
            _ => text.into(),
        };
        rows.into_iter().map(|row| RowKey(row.into_iter().zip(table.keys).map(value).collect())).collect()
    };
    Ok(keys.iter().map(|key| key.subject(kind)).collect())
}

/// Runs the statements that must precede the merge.
fn before(write: &mut Write<'_>, merge: &Merge) -> Result<(), WorkError> {
    match merge.kind {
        Kind::Guild => {
            for kind in Kind::ALL.into_iter().filter(|kind| kind.is_of_guild()) {
                remove_with_guilds(write, kind)?;
            }
        }
        Kind::Subscription => {
            let (table, differing) = (SubscriptionGuildRow::TABLE.name, merge.table.differing());
            let update = Op::Update.number();
            sql_query(format!(
                "DELETE FROM {table} WHERE user_id IN (SELECT user_id FROM {differing} WHERE op = {update})"
            ))
            .execute(write.db)?;
        }
        _ => {}
    }
    Ok(())
}

/// Runs the statements that must follow the merge.
fn after(write: &mut Write<'_>, merge: &Merge, tally: Tally) -> Result<(), WorkError> {
    match merge.kind {
        Kind::Subscription => {
            let Table { name: table, staged, .. } = *SubscriptionGuildRow::TABLE;
            let (differing, delete) = (merge.table.differing(), Op::Delete.number());
            sql_query(format!(
                "INSERT INTO {table} (user_id, guild) SELECT s.user_id, s.guild FROM {staged} AS s
                 JOIN {differing} AS d ON d.user_id = s.user_id WHERE d.op <> {delete}
                 ORDER BY s.user_id, s.guild"
            ))
            .execute(write.db)?;
        }
        Kind::Feedback => assign_slots(write.db, tally.removed > 0)?,
        Kind::Grant => raise_grant_offset(write.db)?,
        _ => {}
    }
    Ok(())
}

/// Ensures that later versions are higher than all staged ones.
fn raise_grant_offset(db: &mut AnyConnection) -> Result<(), WorkError> {
    let staged = GrantRow::TABLE.staged;
    let highest = sql::<Nullable<BigInt>>(&format!("SELECT max(version) FROM {staged}"));
    let highest: Option<i64> = highest.get_result(db)?;
    highest.map_or(Ok(()), |version| history::raise_grant_offset(db, version))
}

/// Creates the table of the lines on which the guild of a member or an outline was first named.
pub(super) fn create_named_guilds(db: &mut AnyConnection) -> QueryResult<()> {
    db.batch_execute(
        "CREATE TEMPORARY TABLE IF NOT EXISTS staged_named_guilds (guild BIGINT PRIMARY KEY, line BIGINT)",
    )
}

pub(super) fn stage_named_guilds(lines: BTreeMap<i64, i64>, db: &mut AnyConnection) -> QueryResult<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = lines.into_iter().map(|(guild, line)| format!("({guild}, {line})")).collect();
    let insert = "INSERT INTO staged_named_guilds (guild, line) VALUES";
    sql_query(format!("{insert} {} ON CONFLICT (guild) DO NOTHING", rows.join(", "))).execute(db)?;
    Ok(())
}

/// Returns the first line whose guild is neither stored nor staged, and that guild.
pub(crate) fn first_unknown_guild(
    db: &mut AnyConnection,
    guilds: &Scope<'_>,
) -> QueryResult<Option<(i64, i64)>> {
    let unknown = sql::<(BigInt, BigInt)>(&format!(
        "SELECT m.line, m.guild FROM staged_named_guilds AS m
         WHERE NOT EXISTS (SELECT 1 FROM {} AS t WHERE t.id = m.guild)
         AND NOT EXISTS (SELECT 1 FROM {} AS s WHERE s.id = m.guild)
         AND {} ORDER BY m.line LIMIT 1",
        GuildRow::TABLE.name,
        GuildRow::TABLE.staged,
        guilds.of(&["guild"], "m")
    ));
    unknown.get_result(db).optional()
}

/// Returns the condition for members of a guild that this sync removes. Such members are removed with it, and are not
/// merged.
fn of_removed_guild() -> String {
    let (differing, delete) = (GuildRow::TABLE.differing(), Op::Delete.number());
    format!("EXISTS (SELECT 1 FROM {differing} AS g WHERE g.id = {{}}.guild AND g.op = {delete})")
}

/// Removes records of guilds that are about to be removed. They are noted as changes, but not counted.
fn remove_with_guilds(write: &mut Write<'_>, kind: Kind) -> Result<(), WorkError> {
    let Some(table) = table_of(kind) else { return Ok(()) };
    let (differing, delete) = (GuildRow::TABLE.differing(), Op::Delete.number());
    let theirs =
        format!("FROM {} WHERE guild IN (SELECT id FROM {differing} WHERE op = {delete})", table.name);
    let subjects = subjects(write.db, kind, table, &theirs)?;
    if !subjects.is_empty() {
        sql_query(format!("DELETE {theirs}")).execute(write.db)?;
    }
    for subject in subjects {
        write.note(subject);
    }
    Ok(())
}

/// Returns the ratings of entries with a slot, as an SQL list.
fn positive_ratings() -> String {
    let positive = (1..=5).filter_map(|stars| Rating::new(stars).ok()).filter(|rating| rating.is_positive());
    positive.map(|rating| rating.stars().to_string()).collect::<Vec<_>>().join(", ")
}

/// Moves the entries of the last slots into the gaps.
const CLOSE_GAPS: &str = "
    WITH places AS (SELECT row_number() OVER (ORDER BY slot) - 1 AS slot FROM feedback WHERE slot IS NOT NULL)
    UPDATE feedback AS f SET slot = gap.slot
    FROM (SELECT p.slot, row_number() OVER (ORDER BY p.slot) AS place FROM places AS p
          WHERE NOT EXISTS (SELECT 1 FROM feedback AS t WHERE t.slot = p.slot)) AS gap
    JOIN (SELECT id, row_number() OVER (ORDER BY slot) AS place FROM feedback
          WHERE slot >= (SELECT count(*) FROM places)) AS last
    ON last.place = gap.place WHERE f.id = last.id";

/// Gives new positive entries the slots after the last, and closes the gaps that others leave.
fn assign_slots(db: &mut AnyConnection, has_removed: bool) -> QueryResult<()> {
    let (differing, positive) = (FeedbackRow::TABLE.differing(), positive_ratings());
    let (delete, update) = (Op::Delete.number(), Op::Update.number());
    let freed = sql_query(format!(
        "UPDATE feedback SET slot = NULL WHERE slot IS NOT NULL
         AND id IN (SELECT id FROM {differing} WHERE op = {update} AND rating NOT IN ({positive}))"
    ))
    .execute(db)?;
    let next = slots(db)?;
    sql_query(format!(
        "UPDATE feedback AS f SET slot = {next} + newcomer.place - 1
         FROM (SELECT t.id, row_number() OVER (ORDER BY t.id) AS place
               FROM {differing} AS d JOIN feedback AS t ON t.id = d.id
               WHERE d.op <> {delete} AND d.rating IN ({positive}) AND t.slot IS NULL) AS newcomer
         WHERE f.id = newcomer.id"
    ))
    .execute(db)?;
    if has_removed || freed > 0 {
        sql_query(CLOSE_GAPS).execute(db)?;
    }
    Ok(())
}
