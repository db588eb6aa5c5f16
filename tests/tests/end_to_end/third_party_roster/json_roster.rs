//! The team in a JSON file.

use super::entry::Entry;
use async_trait::async_trait;
use companion_domain::{
    change::Tally,
    model::{Roster, TeamMember},
    port::{Outside, StoreError, TeamRoster},
};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Write},
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

    /// Files block, so the work is done where blocking is fine.
    async fn with_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = self.file.clone();
        let done = tokio::task::spawn_blocking(move || work(&file)).await;
        done.map_err(StoreError::unavailable)?
    }
}

#[async_trait]
impl TeamRoster for JsonRoster {
    async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError> {
        // A rename puts the whole new file in place of the old one, so a reader needs no lock.
        self.with_file(|file| Ok(read(file)?.into())).await
    }

    async fn replace(&self, roster: &Roster) -> Result<Tally, StoreError> {
        let new = roster.as_slice().to_vec();
        self.with_file(move |file| {
            // What is counted is what this write changed, so nobody may write in between; the lock ends with `_lock`.
            let _lock = lock(file).map_err(StoreError::unavailable)?;
            let tally = difference(&read(file)?, &new);
            if tally != Tally::NOTHING {
                write(file, &new).map_err(StoreError::unavailable)?;
            }
            Ok(tally)
        })
        .await
    }
}

#[async_trait]
impl Outside for JsonRoster {
    async fn version(&self) -> Result<u64, StoreError> {
        self.with_file(|file| {
            let mut hasher = DefaultHasher::new();
            // A file that cannot be read is as good a state as any: whoever loads the team will find that out.
            text(file).unwrap_or_default().hash(&mut hasher);
            Ok(hasher.finish())
        })
        .await
    }
}

/// Keeps other writers out, in other processes too. The roster itself cannot be locked: it is another file after
/// every write.
fn lock(file: &Path) -> io::Result<File> {
    let lock = File::create(file.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// What the file says. Nothing where there is none.
fn text(file: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(StoreError::unavailable),
    }
}

fn read(file: &Path) -> Result<Vec<TeamMember>, StoreError> {
    let Some(text) = text(file)? else { return Ok(Vec::new()) };
    let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(StoreError::corrupt)?;
    let members: Result<_, _> = entries.into_iter().map(TeamMember::try_from).collect();
    // People edit the file, so it is held to the same rules as the API.
    let roster = Roster::new(members.map_err(StoreError::corrupt)?);
    Ok(roster.map_err(|(_, invalid)| StoreError::corrupt(invalid))?.into_members())
}

/// Writes beside the roster and renames: whoever reads, or wakes up after a crash, finds the old team or the new one.
fn write(file: &Path, team: &[TeamMember]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let entries: Vec<_> = team.iter().map(Entry::from).collect();
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec_pretty(&entries)?)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    // The rename itself is on disk only with the folder.
    File::open(folder)?.sync_all()
}

fn difference(old: &[TeamMember], new: &[TeamMember]) -> Tally {
    let find =
        |team: &[TeamMember], one: &TeamMember| team.iter().find(|other| other.key() == one.key()).cloned();
    let mut tally = Tally::NOTHING;
    for member in new {
        match find(old, member) {
            None => tally += Tally::ADDED,
            Some(earlier) if earlier != *member => tally += Tally::CHANGED,
            Some(_) => {}
        }
    }
    tally.removed = old.iter().filter(|member| find(new, member).is_none()).count() as u64;
    tally
}
