//! Detects that a path no longer leads to the file that was opened.
//!
//! A database can be deleted or replaced under a running service. SQLite continues with the open files, and writes to
//! them are lost when the process ends. The files are therefore identified by device and inode, and checked around
//! every commit.

use companion_domain::port::Cause;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// Attempts to open a file that is replaced while it is being opened.
const ATTEMPTS: usize = 3;

/// The database file and its write-ahead log, as of the first connection. A connection that has read once keeps the log
/// open. As long as one is open, only an outside process replaces either file.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    opened: OnceLock<OpenedFile>,
    /// Why writes are rejected, once a file is lost.
    lost: OnceLock<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenedFile {
    file: FileId,
    /// SQLite follows symbolic links, and creates the log beside their target.
    log_path: PathBuf,
    log: FileId,
}

impl FileIdentity {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, opened: OnceLock::new(), lost: OnceLock::new() }
    }

    /// Opens a connection that has read from the file, and verifies that it uses the same file as all others.
    pub(crate) fn connect<T>(&self, open: impl Fn() -> Result<T, Cause>) -> Result<T, Cause> {
        for _ in 0..ATTEMPTS {
            let before = FileId::of(&self.path)?;
            let connection = open()?;
            let log_path = log_of(&self.path);
            let found = OpenedFile { file: FileId::of(&self.path)?, log: FileId::of(&log_path)?, log_path };
            if found.file != before {
                continue;
            }
            let known = self.opened.get_or_init(|| found.clone());
            return if *known == found { Ok(connection) } else { Err(self.mark_lost(&self.path).into()) };
        }
        Err(format!("{} was replaced repeatedly while being opened", self.path.display()).into())
    }

    /// Returns an error if a path no longer leads to its file. The error is permanent.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(reason) = self.lost.get() {
            return Err(reason.clone());
        }
        let Some(OpenedFile { file, log_path, log }) = self.opened.get() else {
            return Ok(());
        };
        for (path, known) in [(&self.path, file), (log_path, log)] {
            match FileId::of(path) {
                Ok(found) if found == *known => {}
                Err(error) if !means_absence(&error) => {
                    return Err(format!("cannot check whether {} still exists: {error}", path.display()));
                }
                Ok(_) | Err(_) => return Err(self.mark_lost(path)),
            }
        }
        Ok(())
    }

    /// Returns whether a file was lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    fn mark_lost(&self, path: &Path) -> String {
        let reason = || {
            let reason = format!(
                "{} was deleted or replaced under this program, so nothing is written until a restart",
                path.display()
            );
            tracing::error!(
                path = %path.display(),
                "this file was deleted or replaced while in use: no more writes until this program is restarted"
            );
            reason
        };
        self.lost.get_or_init(reason).clone()
    }
}

pub(crate) fn log_of(path: &Path) -> PathBuf {
    let resolved = fs::canonicalize(path);
    let mut log = resolved.unwrap_or_else(|_| path.to_owned()).into_os_string();
    log.push("-wal");
    log.into()
}

fn means_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Identifies a file among all existing files. An open file keeps its identity when it is renamed or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
    /// Other systems refuse to delete or rename an open database; this is a second line of defence.
    #[cfg(not(unix))]
    created: Option<std::time::SystemTime>,
}

impl FileId {
    /// Reads the identity without opening the file. Closing it would release the locks that SQLite holds on it.
    fn of(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Ok(Self { device: data.dev(), inode: data.ino() })
        }
        #[cfg(not(unix))]
        Ok(Self { created: data.created().ok() })
    }
}
