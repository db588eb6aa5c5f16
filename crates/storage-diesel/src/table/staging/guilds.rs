//! Guilds and their members in a merge: no member without a guild, and none that outlives it.

use super::merge::{Op, Scope};
use crate::{
    connection::AnyConnection,
    failure::Failure,
    table::{
        history::{Write, named},
        members,
        row::{GuildRow, MemberRow, Row},
    },
};
use companion_domain::change::Kind;
use diesel::{
    OptionalExtension, QueryResult, RunQueryDsl, connection::SimpleConnection, dsl::sql, sql_query,
    sql_types::BigInt,
};
use std::collections::BTreeMap;

/// Makes the table of where the guild of a member was first named.
pub(super) fn create_member_guilds(db: &mut AnyConnection) -> QueryResult<()> {
    db.batch_execute("CREATE TEMPORARY TABLE staged_member_guilds (guild BIGINT PRIMARY KEY, line BIGINT)")
}

pub(super) fn stage_member_guilds(lines: BTreeMap<i64, i64>, db: &mut AnyConnection) -> QueryResult<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = lines.into_iter().map(|(guild, line)| format!("({guild}, {line})")).collect();
    let insert = "INSERT INTO staged_member_guilds (guild, line) VALUES";
    sql_query(format!("{insert} {} ON CONFLICT (guild) DO NOTHING", rows.join(", "))).execute(db)?;
    Ok(())
}

/// The first line that names a member's guild that is neither stored nor staged, with that guild.
pub(crate) fn first_unknown_guild(
    db: &mut AnyConnection,
    guilds: &Scope<'_>,
) -> QueryResult<Option<(i64, i64)>> {
    let unknown = sql::<(BigInt, BigInt)>(&format!(
        "SELECT m.line, m.guild FROM staged_member_guilds AS m
         WHERE NOT EXISTS (SELECT 1 FROM {} AS t WHERE t.id = m.guild)
         AND NOT EXISTS (SELECT 1 FROM {} AS s WHERE s.id = m.guild)
         AND {} ORDER BY m.line LIMIT 1",
        GuildRow::TABLE.name,
        GuildRow::TABLE.staged,
        guilds.of(&["guild"], "m")
    ));
    unknown.get_result(db).optional()
}

/// Members go with their guild, and nothing comes of those that were staged for a guild that this very sync takes away.
pub(super) fn of_a_guild_that_goes() -> String {
    let (differing, delete) = (GuildRow::TABLE.differing(), Op::Delete.number());
    format!("EXISTS (SELECT 1 FROM {differing} AS g WHERE g.id = {{}}.guild AND g.op = {delete})")
}

/// Takes the members of guilds that are about to go. They are noted, and not counted.
pub(super) fn remove_members_of_guilds_that_go(write: &mut Write<'_>) -> Result<(), Failure> {
    let (differing, delete) = (GuildRow::TABLE.differing(), Op::Delete.number());
    let table = MemberRow::TABLE.name;
    let theirs = format!("FROM {table} WHERE guild IN (SELECT id FROM {differing} WHERE op = {delete})");
    let limit = named(Kind::Member) + 1;
    let going: Vec<(i64, i64)> =
        sql::<(BigInt, BigInt)>(&format!("SELECT guild, user_id {theirs} LIMIT {limit}")).load(write.db)?;
    if !going.is_empty() {
        sql_query(format!("DELETE {theirs}")).execute(write.db)?;
    }
    for (guild, user) in going {
        write.note(members::subject(guild, user));
    }
    Ok(())
}
