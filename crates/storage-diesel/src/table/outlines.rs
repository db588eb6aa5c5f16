//! Names of the channels and roles of guilds.

use super::{
    column::{from_column, to_column},
    row::{OutlineRow, Row, read},
    unreadable::Unreadable,
};
use crate::failure::RowError;
use companion_domain::model::{Entries, Outline, OutlineChannel, OutlineRole};

impl Row for OutlineRow {
    type Value = Outline;

    fn of(outline: &Outline) -> Self {
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

    fn read(&self, _: &Unreadable) -> Result<Outline, RowError> {
        Ok(Outline {
            guild: read!(self.guild, from_column),
            channels: read!(self.channels, |text| channels(text).ok_or(())),
            roles: read!(self.roles, |text| roles(text).ok_or(())),
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
