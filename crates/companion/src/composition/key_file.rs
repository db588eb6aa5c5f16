//! A key in its own file beside the database.
//!
//! Creation is atomic: a kill, a full disk or a concurrent process leaves a complete file or none. A file without a
//! valid key is neither used nor replaced.

use crate::configuration::{Raw, Setting, ValueError, open_regular};
use companion_domain::model::Secret;
use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// The location of a key, and the consequence of losing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyFile {
    path: PathBuf,
    /// The consequence of a new key, as a clause that follows "a new one is made, and".
    consequence: &'static str,
}

/// The reason why no key could be read or created.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyFileError {
    #[error("cannot read the key file {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("cannot create the key file {}: {cause}", path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
    #[error(
        "the key file {} holds no key: what it holds {error}\n    fix: restore it from where you keep your keys; if it \
         is lost, delete it and start again: a new one is made, and {consequence}",
        path.display()
    )]
    Damaged { path: PathBuf, error: ValueError, consequence: &'static str },
}

impl KeyFile {
    /// Returns the key file of a database: the database's path with `ending` appended.
    pub(super) fn beside(database: &Path, ending: &str, consequence: &'static str) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push(ending);
        Self { path: path.into(), consequence }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the key. Returns `None` if the file does not exist.
    pub(super) fn read<K: Setting>(&self) -> Result<Option<K>, KeyFileError> {
        let text = match open_regular(&self.path).and_then(io::read_to_string) {
            Ok(text) => Zeroizing::new(text),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(self.damaged(ValueError::must_be("text")));
            }
            Err(cause) => return Err(KeyFileError::Unreadable { path: self.path.clone(), cause }),
        };
        if text.trim().is_empty() {
            return Err(self.damaged(ValueError::must_be("a key, but the file is empty")));
        }
        K::read(&Raw::Word(text.trim().to_owned())).map(Some).map_err(|error| self.damaged(error))
    }

    /// Reads the key, or creates the file with a new key if it does not exist.
    pub(super) fn read_or_make<K: Setting>(&self, make: impl FnOnce() -> Secret) -> Result<K, KeyFileError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        let unwritable = |cause| KeyFileError::Unwritable { path: self.path.clone(), cause };
        let mut pending = PendingKeyFile { path: self.path.clone(), secret: make(), temporary: None };
        match STEPS.iter().try_for_each(|step| step(&mut pending)) {
            Ok(()) => {}
            // A concurrent process created the file first. Use its key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(unwritable(error)),
        }
        self.read()?.ok_or_else(|| unwritable(io::Error::from(io::ErrorKind::NotFound)))
    }

    fn damaged(&self, error: ValueError) -> KeyFileError {
        KeyFileError::Damaged { path: self.path.clone(), error, consequence: self.consequence }
    }
}

/// A key file being created.
struct PendingKeyFile {
    path: PathBuf,
    secret: Secret,
    /// The temporary file, readable by its owner only. Removed on drop, unless the process is killed.
    temporary: Option<NamedTempFile>,
}

/// The steps of creation. After each of them the key file is absent or complete.
const STEPS: [fn(&mut PendingKeyFile) -> io::Result<()>; 4] = [
    PendingKeyFile::write_temporary,
    PendingKeyFile::sync,
    PendingKeyFile::rename,
    PendingKeyFile::sync_folder,
];

impl PendingKeyFile {
    fn write_temporary(&mut self) -> io::Result<()> {
        let mut prefix = self.path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let mut temporary =
            tempfile::Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(self.folder())?;
        temporary.write_all(self.secret.expose().as_bytes())?;
        temporary.write_all(b"\n")?;
        self.temporary = Some(temporary);
        Ok(())
    }

    /// Syncs the content before the rename, so that after a power failure the name never refers to missing content.
    fn sync(&mut self) -> io::Result<()> {
        self.temporary.as_ref().map_or(Ok(()), |temporary| temporary.as_file().sync_all())
    }

    /// Fails if the key file exists by now.
    fn rename(&mut self) -> io::Result<()> {
        match self.temporary.take() {
            Some(temporary) => {
                temporary.persist_noclobber(&self.path).map(drop).map_err(|refused| refused.error)
            }
            None => Ok(()),
        }
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        fs::File::open(self.folder())?.sync_all()
    }

    fn folder(&self) -> &Path {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }
}

/// Whether others than the owner have any permission on the file. Returns false if the file does not exist.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    has_any_right(path, 0o077)
}

/// Like [`is_open_to_others`], but ignores the permissions of the group.
pub(crate) fn is_open_to_all(path: &Path) -> bool {
    has_any_right(path, 0o007)
}

fn has_any_right(path: &Path, rights: u32) -> bool {
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & rights != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::model::SecretKey;
    use tempfile::TempDir;

    const ONE: &str = "b25lb25lb25lb25lb25lb25lb25lb25lb25lb25lb24=";
    const OTHER: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

    fn file(folder: &TempDir) -> KeyFile {
        KeyFile::beside(&folder.path().join("a.db"), ".key", "nothing is lost")
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn key(text: &str) -> SecretKey {
        text.parse().unwrap()
    }

    fn make(file: &KeyFile, text: &str) -> SecretKey {
        file.read_or_make(|| secret(text)).unwrap()
    }

    #[test]
    fn a_kill_after_any_step_leaves_no_key_or_a_complete_one() {
        for killed_after in 0..=STEPS.len() {
            let folder = TempDir::new().unwrap();
            let file = file(&folder);
            let mut pending =
                PendingKeyFile { path: file.path().to_owned(), secret: secret(ONE), temporary: None };
            for step in &STEPS[..killed_after] {
                step(&mut pending).unwrap();
            }
            // A killed process runs no destructors.
            std::mem::forget(pending);
            let found = file.read::<SecretKey>().unwrap();
            assert!(found.is_none() || found == Some(key(ONE)), "{killed_after}");
            assert_eq!(found.is_some(), killed_after >= 3, "{killed_after}");
            // The next start has a key, and later starts keep it.
            let next = make(&file, OTHER);
            assert_eq!(next, found.unwrap_or_else(|| key(OTHER)), "{killed_after}");
            assert_eq!(make(&file, ONE), next, "{killed_after}");
        }
    }

    #[test]
    fn uses_the_key_of_a_concurrent_process() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        let made = file.read_or_make::<SecretKey>(|| {
            fs::write(file.path(), OTHER).unwrap();
            secret(ONE)
        });
        assert_eq!(made.unwrap(), key(OTHER));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what was made aside is gone");
    }

    #[test]
    fn reports_an_invalid_key_file_and_leaves_it_unchanged() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        for content in [&b""[..], b"\n", b"c2hvcnQ=\n", &[0xFF, 0xFE]] {
            fs::write(file.path(), content).unwrap();
            let refused = file.read_or_make::<SecretKey>(|| secret(ONE)).unwrap_err().to_string();
            for part in [file.path().to_str().unwrap(), "restore it", "delete it", "nothing is lost"] {
                assert!(refused.contains(part), "{refused}");
            }
            assert!(!refused.contains("c2hvcnQ"), "{refused}");
            assert_eq!(fs::read(file.path()).unwrap(), content);
        }
    }

    #[test]
    fn reports_the_path_of_an_unwritable_key_file() {
        let folder = TempDir::new().unwrap();
        let file = KeyFile::beside(&folder.path().join("no/such/a.db"), ".key", "");
        let refused = file.read_or_make::<SecretKey>(|| secret(ONE)).unwrap_err().to_string();
        assert!(refused.contains("a.db.key") && refused.contains("No such file"), "{refused}");
    }

    /// Runs the test below in a process with a file size limit of zero, which fails writes like a full disk.
    #[test]
    fn a_full_disk_leaves_no_key_behind() {
        let folder = TempDir::new().unwrap();
        let this = concat!(module_path!(), "::in_a_process_on_a_full_disk");
        let (_, this) = this.split_once("::").unwrap();
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg("trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact \"$1\" --include-ignored")
            .arg(std::env::current_exe().unwrap())
            .arg(this)
            .env("FULL_DISK_FOLDER", folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // Works again once writes succeed.
        assert_eq!(make(&file(&folder), ONE), key(ONE));
    }

    #[test]
    #[ignore = "the test above runs it in a process of its own"]
    fn in_a_process_on_a_full_disk() {
        let Some(folder) = std::env::var_os("FULL_DISK_FOLDER") else { return };
        let file = KeyFile::beside(&Path::new(&folder).join("a.db"), ".key", "");
        let refused = file.read_or_make::<SecretKey>(|| secret(ONE)).unwrap_err();
        assert!(matches!(refused, KeyFileError::Unwritable { .. }), "{refused}");
    }

    #[test]
    fn detects_key_files_that_are_open_to_others() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        assert!(!is_open_to_others(file.path()));
        make(&file, ONE);
        assert!(!is_open_to_others(file.path()));
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(is_open_to_others(file.path()), "{mode:o}");
            assert_eq!(is_open_to_all(file.path()), mode == 0o604, "{mode:o}");
        }
    }
}
