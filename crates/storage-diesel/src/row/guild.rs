//! Guilds as rows.

use super::{
    makes_no_sense,
    snowflake::{from_column, to_column},
    unreadable::{Key, Keyed},
};
use crate::{failure::RowError, schema::guilds};
use companion_domain::model::{Guild, MemberCount, RoleBindings, RoleId, RoleKey, RoleSet};
use diesel::{AsChangeset, Insertable, Queryable, Selectable};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq, Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = guilds, treat_none_as_null = true)]
pub(crate) struct GuildRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) icon: Option<String>,
    pub(crate) members: i64,
    pub(crate) owner: i64,
    pub(crate) setup: bool,
    pub(crate) linked: bool,
    pub(crate) bindings: String,
}

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

impl Keyed for GuildRow {
    fn key(&self) -> Key {
        Key::Id(self.id)
    }
}

impl TryFrom<GuildRow> for Guild {
    type Error = RowError;

    fn try_from(row: GuildRow) -> Result<Self, RowError> {
        let icon = row.icon.map(|icon| icon.parse()).transpose();
        let members = u64::try_from(row.members).ok().and_then(|members| MemberCount::new(members).ok());
        Ok(Self {
            id: from_column(row.id, "guilds", "id")?,
            name: row.name.parse().map_err(makes_no_sense("guilds", "name"))?,
            icon: icon.map_err(makes_no_sense("guilds", "icon"))?,
            members: members.ok_or(()).map_err(makes_no_sense("guilds", "members"))?,
            owner: from_column(row.owner, "guilds", "owner")?,
            setup: row.setup,
            linked: row.linked,
            bindings: bindings_from_text(&row.bindings)
                .ok_or(())
                .map_err(makes_no_sense("guilds", "bindings"))?,
        })
    }
}

/// Bindings as JSON with sorted keys, and the ids as text, which is how platform ids are written in JSON.
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
