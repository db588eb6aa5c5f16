//! Guilds that have the bot.

use super::{
    column::any_of,
    column::{MAX_VALUES, from_column, to_column},
    history::{Write, removed},
    members, outlines,
    row::{GuildRow, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::guilds,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, UserId},
    port::{GuildTotals, GuildWithRoles},
};
use diesel::{
    OptionalExtension, QueryDsl, QueryResult, RunQueryDsl, SelectableHelper, dsl::sql, sql_types::BigInt,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

impl From<&Guild> for GuildRow {
    fn from(guild: &Guild) -> Self {
        Self {
            id: to_column(guild.id),
            name: guild.name.to_string(),
            icon: guild.icon.as_ref().map(ToString::to_string),
            members: guild.members.get().into(),
            owner: to_column(guild.owner),
            setup: guild.setup,
            linked: guild.linked,
            bindings: bindings_to_text(&guild.bindings),
        }
    }
}

impl TryFrom<GuildRow> for Guild {
    type Error = RowError;

    fn try_from(row: GuildRow) -> Result<Self, RowError> {
        Ok(Self {
            id: read!(row.id, from_column),
            name: read!(row.name, |name| name.parse()),
            icon: read!(row.icon, |icon| icon.as_deref().map(str::parse).transpose()),
            members: read!(row.members, |members| {
                u64::try_from(*members).ok().and_then(|members| MemberCount::new(members).ok()).ok_or(())
            }),
            owner: read!(row.owner, from_column),
            setup: row.setup,
            linked: row.linked,
            bindings: read!(row.bindings, |text| bindings_from_text(text).ok_or(())),
        })
    }
}

/// Returns bindings as JSON with sorted keys. Ids are strings, as usual for platform ids in JSON.
fn bindings_to_text(bindings: &RoleBindings) -> String {
    let map: BTreeMap<_, Vec<_>> = bindings
        .iter()
        .map(|(key, roles)| {
            let ids = roles.as_slice().iter().map(ToString::to_string);
            (key.as_str(), ids.collect())
        })
        .collect();
    serde_json::json!(map).to_string()
}

fn bindings_from_text(text: &str) -> Option<RoleBindings> {
    let map: BTreeMap<String, Vec<String>> = serde_json::from_str(text).ok()?;
    let bindings = map.into_iter().map(|(key, ids)| {
        let ids: Result<Vec<RoleId>, _> = ids.iter().map(|id| id.parse()).collect();
        Some((key.parse::<RoleKey>().ok()?, RoleSet::new(ids.ok()?).ok()?))
    });
    Some(RoleBindings::new(bindings.collect::<Option<Vec<_>>>()?))
}

pub(crate) fn find(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> QueryResult<Option<Guild>> {
    let row = GuildRow::stored(db, (to_column(guild),))?;
    Ok(row.and_then(|row| unreadable.one(row)))
}

pub(crate) fn is_known(db: &mut AnyConnection, guild: GuildId) -> QueryResult<bool> {
    let found: Option<i64> =
        guilds::table.find(to_column(guild)).select(guilds::id).get_result(db).optional()?;
    Ok(found.is_some())
}

/// Returns the known guilds among `asked`, with the roles of a user. Unreadable roles count as none, which grants
/// least.
pub(crate) fn totals(db: &mut AnyConnection) -> QueryResult<GuildTotals> {
    let totals =
        sql::<(BigInt, BigInt)>("SELECT count(*), CAST(coalesce(sum(members), 0) AS BIGINT) FROM guilds");
    let (guilds, members): (i64, i64) = totals.get_result(db)?;
    Ok(GuildTotals { guilds: guilds.unsigned_abs(), members: members.unsigned_abs() })
}

pub(crate) fn with_roles(
    db: &mut AnyConnection,
    user: UserId,
    asked: &[GuildId],
    unreadable: &Unreadable,
) -> QueryResult<Vec<GuildWithRoles>> {
    let none = Arc::new(RoleSet::default());
    let asked: BTreeSet<_> = asked.iter().copied().map(to_column).collect();
    let asked: Vec<_> = asked.into_iter().collect();
    let mut seen = Vec::new();
    for some in asked.chunks(MAX_VALUES) {
        let known: Vec<GuildRow> =
            guilds::table.filter(any_of(guilds::id, some)).select(GuildRow::as_select()).load(db)?;
        let mut roles = members::roles_in(db, user, some, unreadable)?;
        for row in known {
            let roles = roles.remove(&row.id).map_or_else(|| Arc::clone(&none), Arc::new);
            seen.extend(unreadable.one(row).map(|guild| GuildWithRoles { guild: Arc::new(guild), roles }));
        }
    }
    Ok(seen)
}

pub(crate) fn put(write: &mut Write<'_>, guild: &Guild) -> Result<Tally, WorkError> {
    let tally = GuildRow::from(guild).put(write.db)?;
    Ok(write.noted(tally, || Subject::Guild(guild.id)))
}

/// Removes a guild with its members and its outline, which are noted as changes, but not counted.
pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, WorkError> {
    members::remove_all_of(write, guild)?;
    outlines::remove(write, guild)?;
    let gone = diesel::delete(guilds::table.find(to_column(guild))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Guild(guild)))
}
