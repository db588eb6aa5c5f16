//! Guilds that have the bot.

use super::{
    column::{MAX_VALUES, any_of, from_column, to_column},
    history::Write,
    members,
    records::remove_row,
    row::{Columns as _, GuildRow, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
};
use companion_domain::{
    change::{Key, Tally},
    model::{Guild, GuildId, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet, UserId},
    port::{GuildTotals, GuildWithRoles},
};
use diesel::{RunQueryDsl, dsl::sql, sql_types::BigInt};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

impl Row for GuildRow {
    type Value = Guild;

    fn of(guild: &Guild) -> Self {
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

    fn read(&self, _: &Unreadable) -> Result<Guild, RowError> {
        Ok(Guild {
            id: read!(self.id, from_column),
            name: read!(self.name, |name| name.parse()),
            icon: read!(self.icon, |icon| icon.as_deref().map(str::parse).transpose()),
            members: read!(self.members, |members| {
                u64::try_from(*members).ok().and_then(|members| MemberCount::new(members).ok()).ok_or(())
            }),
            owner: read!(self.owner, from_column),
            setup: self.setup,
            linked: self.linked,
            bindings: read!(self.bindings, |text| bindings_from_text(text).ok_or(())),
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

pub(crate) fn totals(db: &mut AnyConnection) -> Result<GuildTotals, WorkError> {
    let totals =
        sql::<(BigInt, BigInt)>("SELECT count(*), CAST(coalesce(sum(members), 0) AS BIGINT) FROM guilds");
    let (guilds, members): (i64, i64) = totals.get_result(db)?;
    Ok(GuildTotals { guilds: guilds.unsigned_abs(), members: members.unsigned_abs() })
}

/// Returns the known guilds among `asked`, with the roles of a user. Unreadable roles count as none, which grants
/// least.
pub(crate) fn with_roles(
    db: &mut AnyConnection,
    user: UserId,
    asked: &[GuildId],
    unreadable: &Unreadable,
) -> Result<Vec<GuildWithRoles>, WorkError> {
    let none = Arc::new(RoleSet::default());
    let asked: BTreeSet<_> = asked.iter().copied().map(to_column).collect();
    let asked: Vec<_> = asked.into_iter().collect();
    let mut seen = Vec::new();
    for some in asked.chunks(MAX_VALUES) {
        let (any, values) = any_of(some);
        let known = GuildRow::select(db, &format!("WHERE id {any}"), values)?;
        let mut roles = members::roles_in(db, user, some, unreadable)?;
        for row in known {
            let roles = roles.remove(&row.id).map_or_else(|| Arc::clone(&none), Arc::new);
            seen.extend(unreadable.one(&row).map(|guild| GuildWithRoles { guild: Arc::new(guild), roles }));
        }
    }
    Ok(seen)
}

/// Removes a guild with its members and its outline, which are noted as changes, but not counted.
pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, WorkError> {
    members::remove_all_of(write, guild)?;
    remove_row(write, &Key::Outline(guild))?;
    remove_row(write, &Key::Guild(guild))
}
