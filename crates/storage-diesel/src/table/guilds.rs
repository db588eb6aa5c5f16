//! Guilds that have the bot, and the roles of their members.

use super::{
    column::{Field, MAX_VALUES, any_of},
    history::{Write, removed},
    records::remove_row,
    row::{Columns as _, GuildRow, MemberRow, Row as _, RowKey},
    unreadable::Unreadable,
};
use crate::{connection::AnyConnection, failure::WorkError, schema::members};
use companion_domain::{
    change::{Key, Kind, Subject, Tally, max_named},
    model::{GuildId, RoleSet, UserId},
    port::GuildWithRoles,
};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Returns the known guilds among `asked`, with the roles of a user. Unreadable roles count as none, which grants
/// least.
pub(crate) fn with_roles(
    db: &mut AnyConnection,
    user: UserId,
    asked: &[GuildId],
    unreadable: &Unreadable,
) -> Result<Vec<GuildWithRoles>, WorkError> {
    let none = Arc::new(RoleSet::default());
    let asked: BTreeSet<_> = asked.iter().map(Field::column).collect();
    let asked: Vec<_> = asked.into_iter().collect();
    let mut seen = Vec::new();
    for some in asked.chunks(MAX_VALUES) {
        let (any, values) = any_of(some);
        let known = GuildRow::select(db, &format!("WHERE id {any}"), values)?;
        let mut roles = roles_in(db, user, some, unreadable)?;
        for row in known {
            let roles = roles.remove(&row.id).map_or_else(|| Arc::clone(&none), Arc::new);
            seen.extend(unreadable.one(&row).map(|guild| GuildWithRoles { guild: Arc::new(guild), roles }));
        }
    }
    Ok(seen)
}

/// Removes a guild with its members and its outline, which are noted as changes, but not counted.
pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, WorkError> {
    remove_members(write, guild)?;
    remove_row(write, &Key::Outline(guild))?;
    remove_row(write, &Key::Guild(guild))
}

/// Returns the roles of a user in these guilds, as far as they are known and readable.
fn roles_in(
    db: &mut AnyConnection,
    user: UserId,
    guilds: &[i64],
    unreadable: &Unreadable,
) -> QueryResult<HashMap<i64, RoleSet>> {
    let (any, mut values) = any_of(guilds);
    values.push(user.column().into());
    let members =
        MemberRow::all(db, unreadable, &format!("WHERE guild {any} AND user_id = ?"), values)?.into_iter();
    Ok(members.map(|member| (member.guild.column(), member.roles)).collect())
}

fn member(guild: i64, user: i64) -> Subject {
    RowKey(vec![guild.into(), user.into()]).subject(Kind::Member)
}

/// Removes all members of a guild.
fn remove_members(write: &mut Write<'_>, guild: GuildId) -> Result<(), WorkError> {
    let of_guild = members::guild.eq(guild.column());
    let enough_to_know = i64::try_from(max_named(Kind::Member) + 1).unwrap_or(i64::MAX);
    let users: Vec<i64> =
        members::table.filter(of_guild).select(members::user_id).limit(enough_to_know).load(write.db)?;
    for user in users {
        write.note(member(guild.column(), user));
    }
    diesel::delete(members::table.filter(of_guild)).execute(write.db)?;
    Ok(())
}

/// Removes the roles of a user in all guilds.
pub(crate) fn forget_roles(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let of_user = members::user_id.eq(user.column());
    let guilds: Vec<i64> =
        members::table.filter(of_user).select(members::guild).order(members::guild).load(write.db)?;
    for guild in &guilds {
        write.note(member(*guild, user.column()));
    }
    diesel::delete(members::table.filter(of_user)).execute(write.db)?;
    Ok(removed(guilds.len()))
}
