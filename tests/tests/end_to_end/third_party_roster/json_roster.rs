//! The team in a JSON file.

use async_trait::async_trait;
use companion_domain::{
    model::{Invalid, Roster, TeamMember, User},
    port::{StoreError, TeamRoster},
};
use serde::Deserialize;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A team roster in a file that people can read and edit. A missing file is an empty team.
pub(crate) struct JsonRoster {
    file: PathBuf,
}

impl JsonRoster {
    /// Creates a roster on this file.
    pub(crate) fn at(file: PathBuf) -> Self {
        Self { file }
    }
}

#[async_trait]
impl TeamRoster for JsonRoster {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        let file = self.file.clone();
        // Files block, so the work is done where blocking is fine.
        let read = tokio::task::spawn_blocking(move || read(&file)).await;
        Ok(read.map_err(StoreError::unavailable)??.into())
    }
}

fn read(file: &Path) -> Result<Vec<TeamMember>, StoreError> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(StoreError::unavailable)?,
    };
    let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(StoreError::corrupt)?;
    let members: Result<_, _> = entries.into_iter().map(TeamMember::try_from).collect();
    // People edit the file, so the rules of the API apply to it too.
    let roster = Roster::new(members.map_err(StoreError::corrupt)?);
    Ok(roster.map_err(|(_, invalid)| StoreError::corrupt(invalid))?.into_members())
}

/// A team member as the file spells it: the fields of the public API.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    discord_id: String,
    username: String,
    name: String,
    avatar: String,
    role: String,
    color: String,
    category: String,
    position: i32,
}

impl TryFrom<Entry> for TeamMember {
    type Error = Invalid;

    fn try_from(entry: Entry) -> Result<Self, Invalid> {
        Ok(Self {
            user: User {
                id: entry.discord_id.parse()?,
                username: entry.username.parse()?,
                name: entry.name.parse()?,
                avatar: entry.avatar.parse()?,
            },
            role: entry.role.parse()?,
            color: entry.color.parse()?,
            category: entry.category.parse()?,
            position: entry.position,
        })
    }
}
