//! Names of the channels and roles of guilds.

use super::{
    column::{from_column, to_column},
    history::{Write, removed},
    row::{OutlineRow, Row, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::outlines,
};
use companion_domain::{
    change::{Subject, Tally},
    model::{Entries, GuildId, Outline, OutlineChannel, OutlineRole},
};
use diesel::{QueryDsl, QueryResult, RunQueryDsl};

impl From<&Outline> for OutlineRow {
    fn from(outline: &Outline) -> Self {
        let channel = |it: &OutlineChannel| (it.id.to_string(), it.name.to_string(), it.kind.as_str());
        let role = |it: &OutlineRole| {
            (it.id.to_string(), it.name.to_string(), it.colour.as_ref().map(ToString::to_string))
        };
        let channels: Vec<_> = outline.channels.as_slice().iter().map(channel).collect();
        let roles: Vec<_> = outline.roles.as_slice().iter().map(role).collect();
        Self {
            guild: to_column(outline.guild),
            channels: serde_json::json!(channels).to_string(),
            roles: serde_json::json!(roles).to_string(),
        }
    }
}

impl TryFrom<OutlineRow> for Outline {
    type Error = RowError;

    fn try_from(row: OutlineRow) -> Result<Self, RowError> {
        Ok(Self {
            guild: read!(row.guild, from_column),
            channels: read!(row.channels, |text| channels(text).ok_or(())),
            roles: read!(row.roles, |text| roles(text).ok_or(())),
        })
    }
}

fn channels(text: &str) -> Option<Entries<OutlineChannel>> {
    let entries: Vec<(String, String, String)> = serde_json::from_str(text).ok()?;
    let entry = |(id, name, kind): (String, String, String)| {
        Some(OutlineChannel { id: id.parse().ok()?, name: name.parse().ok()?, kind: kind.parse().ok()? })
    };
    Entries::new(entries.into_iter().map(entry).collect::<Option<_>>()?).ok()
}

fn roles(text: &str) -> Option<Entries<OutlineRole>> {
    let entries: Vec<(String, String, Option<String>)> = serde_json::from_str(text).ok()?;
    let entry = |(id, name, colour): (String, String, Option<String>)| {
        let colour = colour.map(|colour| colour.parse()).transpose().ok()?;
        Some(OutlineRole { id: id.parse().ok()?, name: name.parse().ok()?, colour })
    };
    Entries::new(entries.into_iter().map(entry).collect::<Option<_>>()?).ok()
}

pub(crate) fn find(
    db: &mut AnyConnection,
    guild: GuildId,
    unreadable: &Unreadable,
) -> QueryResult<Option<Outline>> {
    Ok(OutlineRow::stored(db, (to_column(guild),))?.and_then(|row| unreadable.one(row)))
}

pub(crate) fn put(write: &mut Write<'_>, outline: &Outline) -> Result<Tally, WorkError> {
    let tally = OutlineRow::from(outline).put(write.db)?;
    Ok(write.noted(tally, || Subject::Outline(outline.guild)))
}

pub(crate) fn remove(write: &mut Write<'_>, guild: GuildId) -> Result<Tally, WorkError> {
    let gone = diesel::delete(outlines::table.find(to_column(guild))).execute(write.db)?;
    Ok(write.noted(removed(gone), || Subject::Outline(guild)))
}
