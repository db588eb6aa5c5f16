//! A key in its own file beside the database.
//!
//! Creation is atomic: a kill, a full disk or a concurrent process leaves a complete file or none. A file without a
//! valid key is neither used nor replaced.

use crate::{
    configuration::{Setting, ValueError, open_regular},
    error::{ProgramError, failed},
};
use companion_domain::model::Secret;
use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// The location of a key, and the consequence of losing it.
pub(super) struct KeyFile {
    /// The configuration key that it replaces.
    key: &'static str,
    pub(super) path: PathBuf,
    /// The consequence of a new key, as a clause that follows "a new one is made, and".
    consequence: &'static str,
}

impl KeyFile {
    /// Returns the key file of a database: the database's path with `ending` appended.
    pub(super) fn beside(
        database: &Path,
        key: &'static str,
        ending: &str,
        consequence: &'static str,
    ) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push(ending);
        Self { key, path: path.into(), consequence }
    }

    /// Reads the key. Returns `None` if the file does not exist.
    pub(super) fn read<K: Setting>(&self) -> Result<Option<K>, ProgramError> {
        let text = match open_regular(&self.path).and_then(io::read_to_string) {
            Ok(text) => Zeroizing::new(text),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                return Err(self.damaged(&ValueError::must_be("text")));
            }
            Err(cause) => return Err(self.cannot("read", &cause)),
        };
        if text.trim().is_empty() {
            return Err(self.damaged(&ValueError::must_be("a key, but the file is empty")));
        }
        K::read(&text.trim().into()).map(Some).map_err(|error| self.damaged(&error))
    }

    /// Reads the key, or creates the file with a new key if it does not exist.
    pub(super) fn read_or_make<K: Setting>(&self, make: impl FnOnce() -> Secret) -> Result<K, ProgramError> {
        if let Some(key) = self.read()? {
            return Ok(key);
        }
        match self.create(&make()) {
            // A concurrent process created the file first. Use its key.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created.map_err(|cause| self.cannot("create", &cause))?,
        }
        self.read()?.ok_or_else(|| self.cannot("create", &io::ErrorKind::NotFound.into()))
    }

    /// Creates the file, which is absent or complete at every moment. Fails if it exists by now.
    fn create(&self, secret: &Secret) -> io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut prefix = self.path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        // Readable by its owner only, and removed on drop, unless the process is killed.
        let mut temporary =
            tempfile::Builder::new().prefix(&prefix).suffix(".partial").tempfile_in(folder)?;
        temporary.write_all(secret.expose().as_bytes())?;
        temporary.write_all(b"\n")?;
        // Before the rename, so that after a power failure the name never refers to missing content.
        temporary.as_file().sync_all()?;
        temporary.persist_noclobber(&self.path).map_err(|refused| refused.error)?;
        fs::File::open(folder)?.sync_all()
    }

    fn cannot(&self, act: &str, cause: &io::Error) -> ProgramError {
        failed(format_args!("{}: cannot {act} the key file {}: {cause}", self.key, self.path.display()))
    }

    fn damaged(&self, error: &ValueError) -> ProgramError {
        let Self { key, path, consequence } = self;
        failed(format_args!(
            "{key}: the key file {} holds no key: what it holds {error}\n    fix: restore it from where you keep your keys; \
             if it is lost, delete it and start again: a new one is made, and {consequence}",
            path.display()
        ))
    }
}

/// Rights of the group and of others.
pub(crate) const OF_GROUP_AND_OTHERS: u32 = 0o077;
/// Rights of others, who are neither the owner nor in the group.
pub(crate) const OF_OTHERS: u32 = 0o007;

/// Whether any of these rights is granted. Returns false if the file does not exist.
pub(crate) fn grants_any(path: &Path, rights: u32) -> bool {
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
        KeyFile::beside(&folder.path().join("a.db"), "secrets.key", ".key", "nothing is lost")
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
    fn ignores_what_a_killed_process_left_and_keeps_a_complete_key() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        fs::write(folder.path().join("a.db.key.killed.partial"), &ONE[..9]).unwrap();
        assert_eq!(file.read::<SecretKey>().unwrap(), None);
        assert_eq!(make(&file, OTHER), key(OTHER));
        assert_eq!(make(&file, ONE), key(OTHER));
    }

    #[test]
    fn uses_the_key_of_a_concurrent_process() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        let made = file.read_or_make::<SecretKey>(|| {
            fs::write(&file.path, OTHER).unwrap();
            secret(ONE)
        });
        assert_eq!(made.unwrap(), key(OTHER));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what was made aside is gone");
    }

    #[test]
    fn reports_an_invalid_key_file_and_leaves_it_unchanged() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        for content in [&b""[..], b"\n", b"two words\n", b"c2hvcnQ=\n", &[0xFF, 0xFE]] {
            fs::write(&file.path, content).unwrap();
            let refused = file.read_or_make::<SecretKey>(|| secret(ONE)).unwrap_err().to_string();
            for part in [file.path.to_str().unwrap(), "restore it", "delete it", "nothing is lost"] {
                assert!(refused.contains(part), "{refused}");
            }
            assert!(!refused.contains("c2hvcnQ"), "{refused}");
            assert_eq!(fs::read(&file.path).unwrap(), content);
        }
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
        let file = KeyFile::beside(&Path::new(&folder).join("a.db"), "secrets.key", ".key", "");
        let refused = file.read_or_make::<SecretKey>(|| secret(ONE)).unwrap_err();
        assert!(refused.to_string().starts_with("secrets.key: cannot create the key file "), "{refused}");
    }

    #[test]
    fn detects_key_files_that_are_open_to_others() {
        let folder = TempDir::new().unwrap();
        let file = file(&folder);
        assert!(!grants_any(&file.path, OF_GROUP_AND_OTHERS));
        make(&file, ONE);
        assert!(!grants_any(&file.path, OF_GROUP_AND_OTHERS));
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&file.path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(grants_any(&file.path, OF_GROUP_AND_OTHERS), "{mode:o}");
            assert_eq!(grants_any(&file.path, OF_OTHERS), mode == 0o604, "{mode:o}");
        }
    }
}
