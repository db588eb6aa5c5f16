//! Members' roles.

use super::{
    column::{any_of, from_column, from_text, to_column, to_text},
    history::{Write, removed},
    row::{MemberRow, Row, RowKey, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::members,
};
use companion_domain::{
    change::{Kind, Subject, Tally, max_named},
    model::{GuildId, Member, RoleSet, UserId},
};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, RunQueryDsl};
use std::collections::HashMap;

impl Row for MemberRow {
    type Value = Member;

    fn of(member: &Member) -> Self {
        Self {
            guild: to_column(member.guild),
            user_id: to_column(member.user),
            roles: to_text(member.roles.as_slice()),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Member, RowError> {
        Ok(Member {
            guild: read!(self.guild, from_column),
            user: read!(self.user_id, from_column),
            roles: read!(self.roles, |roles| from_text(roles).and_then(RoleSet::new)),
        })
    }
}

/// Returns the roles of a user in these guilds, as far as they are known and readable.
pub(super) fn roles_in(
    db: &mut AnyConnection,
    user: UserId,
    guilds: &[i64],
    unreadable: &Unreadable,
) -> QueryResult<HashMap<i64, RoleSet>> {
    let (any, mut values) = any_of(guilds);
    values.push(to_column(user).into());
    let members =
        MemberRow::all(db, unreadable, &format!("WHERE guild {any} AND user_id = ?"), values)?.into_iter();
    Ok(members.map(|member| (to_column(member.guild), member.roles)).collect())
}

fn subject(guild: i64, user: i64) -> Subject {
    RowKey(vec![guild.into(), user.into()]).subject(Kind::Member)
}

/// Removes all members of a guild.
pub(super) fn remove_all_of(write: &mut Write<'_>, guild: GuildId) -> Result<(), WorkError> {
    let of_guild = members::guild.eq(to_column(guild));
    let enough_to_know = i64::try_from(max_named(Kind::Member) + 1).unwrap_or(i64::MAX);
    let users: Vec<i64> =
        members::table.filter(of_guild).select(members::user_id).limit(enough_to_know).load(write.db)?;
    for user in users {
        write.note(subject(to_column(guild), user));
    }
    diesel::delete(members::table.filter(of_guild)).execute(write.db)?;
    Ok(())
}

/// Removes the roles of a user in all guilds.
pub(crate) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, WorkError> {
    let of_user = members::user_id.eq(to_column(user));
    let guilds: Vec<i64> =
        members::table.filter(of_user).select(members::guild).order(members::guild).load(write.db)?;
    for guild in &guilds {
        write.note(subject(*guild, to_column(user)));
    }
    diesel::delete(members::table.filter(of_user)).execute(write.db)?;
    Ok(removed(guilds.len()))
}
