//! The team in a JSON file.

use super::entry::Entry;
use async_trait::async_trait;
use companion_domain::{
    model::{Roster, TeamMember},
    port::{StoreError, TeamRoster},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A team roster in a file that people can read and edit. No file is an empty team.
pub(crate) struct JsonRoster {
    file: PathBuf,
}

impl JsonRoster {
    /// The roster in this file.
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
    // People edit the file, so it is held to the same rules as the API.
    let roster = Roster::new(members.map_err(StoreError::corrupt)?);
    Ok(roster.map_err(|(_, invalid)| StoreError::corrupt(invalid))?.into_members())
}
