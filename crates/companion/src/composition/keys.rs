//! The service's own keys: configured, or generated once and kept beside the SQLite file.

use super::key_file::{KeyFile, OF_GROUP_AND_OTHERS, grants_any};
use crate::{
    configuration::{Configuration, KeySource, Keyring, ManagementKey, Setting, StorageUrl, missing_key},
    error::{ProgramError, failed, refused},
    system::SystemEntropy,
    vault::SealingVault,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::{
    model::{Secret, SecretKey, UserId},
    port::{Entropy, Sealed, Vault as _},
};
use companion_management::ScopedKey;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

const RING: &str = "secrets.key";
const MANAGEMENT: &str = "management.key";
const UNFIT_RING: &str = "it does not fit the database: no key opens the platform tokens of the users who are signed in, so \
     all of their sessions would be refused with 401\n    fix: restore the key that they were sealed with; if it is gone, or \
     was replaced on purpose, end their sessions with `companion sessions revoke-all --yes`";
/// Suffix of the database path: the file with the key that signs and seals.
const RING_FILE: &str = ".key";
/// Suffix of the database path: the file with the management key.
const MANAGEMENT_FILE: &str = ".management-key";

/// The service's own keys.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Sign sessions and seal platform tokens.
    pub ring: Keyring,
    /// Grant full access to the management API.
    pub management: Vec<Secret>,
    /// Grant access to some scopes of the management API.
    pub scoped: Vec<ScopedKey>,
    /// The file with the generated management key, so that the start message can name it.
    pub management_file: Option<PathBuf>,
}

impl Keys {
    /// Returns the configured keys, and generates missing ones: in files beside a SQLite database, or for this run if
    /// storage is in memory. With PostgreSQL, missing keys are an error, because all nodes must share them.
    pub fn resolve(configuration: &Configuration, entropy: &dyn Entropy) -> Result<Self, ProgramError> {
        let Configuration { secrets, management, storage, .. } = configuration;
        let ring = match &secrets.key {
            Some(ring) => ring.clone(),
            None => {
                Keyring { first: generated(RING, &storage.url, ring_file, entropy)?.0, others: Vec::new() }
            }
        };
        let (management, management_file) = match &management.key {
            Some(keys) => (keys.iter().map(|key| key.0.clone()).collect(), None),
            None if !management.keys.0.is_empty() => (Vec::new(), None),
            None => {
                let (ManagementKey(key), file) =
                    generated(MANAGEMENT, &storage.url, management_file, entropy)?;
                (vec![key], file)
            }
        };
        Ok(Self { ring, management, scoped: scoped(configuration)?, management_file })
    }

    /// Returns the keys that sign and seal, but generates none.
    pub fn existing_ring(configuration: &Configuration) -> Result<Keyring, ProgramError> {
        if let Some(ring) = &configuration.secrets.key {
            return Ok(ring.clone());
        }
        let StorageUrl::Sqlite(database) = &configuration.storage.url else {
            return Err(refused(missing_key(RING)));
        };
        let file = ring_file(database);
        let first = file.read()?.ok_or_else(|| {
            failed(format_args!(
                "{RING}: it is not set, and there is no key file {}\n    fix: restore the key file",
                file.path.display()
            ))
        })?;
        Ok(Keyring { first, others: Vec::new() })
    }

    /// Checks the keys against the tokens of the users who signed in last. Returns whether a key opened one of them;
    /// `false` means there was none to try. Call this before a missing key is generated.
    ///
    /// # Errors
    ///
    /// If no key opens any of them. Their sessions were signed with the same key, so all of them would be refused.
    pub fn check_ring(
        configuration: &Configuration,
        newest_sealed: &[(UserId, Sealed)],
    ) -> Result<bool, ProgramError> {
        let ring = match Self::existing_ring(configuration) {
            Ok(ring) => Some(ring),
            // `resolve` reports what is wrong with the file.
            Err(_) if Self::ring_file(&configuration.storage.url).is_some_and(|file| file.exists()) => {
                return Ok(false);
            }
            Err(_) => None,
        };
        let vault = ring.map(|ring| SealingVault::new(&ring.first, &ring.others, Arc::new(SystemEntropy)));
        let opens = |(user, sealed): &(UserId, Sealed)| {
            vault.as_ref().is_some_and(|vault| vault.open(*user, sealed).is_ok())
        };
        let mut sealed =
            newest_sealed.iter().filter(|(_, sealed)| SealingVault::is_sealed(sealed)).peekable();
        let is_any = sealed.peek().is_some();
        if is_any && !sealed.any(opens) {
            return Err(refused(format_args!("{RING}: {UNFIT_RING}")));
        }
        Ok(is_any)
    }

    /// Returns the file beside a SQLite database that holds the signing and sealing key, unless the key is configured.
    #[must_use]
    pub fn ring_file(url: &StorageUrl) -> Option<PathBuf> {
        Self::files_beside(url).into_iter().next()
    }

    /// Returns the key files beside a SQLite database. Configured keys do not use them.
    #[must_use]
    pub fn files_beside(url: &StorageUrl) -> Vec<PathBuf> {
        let StorageUrl::Sqlite(database) = url else { return Vec::new() };
        [ring_file(database), management_file(database)].map(|file| file.path).into()
    }

    /// Returns the files with secrets that others than their owner can access: the database, the keys beside it and
    /// named key files.
    #[must_use]
    pub fn open_to_others(configuration: &Configuration) -> Vec<PathBuf> {
        let named = configuration.management.keys.0.iter().filter_map(|key| match &key.source {
            KeySource::File(path) => Some(path.clone()),
            KeySource::Written(_) => None,
        });
        let mut files: Vec<_> = named.collect();
        files.extend(Self::files_beside(&configuration.storage.url));
        if let StorageUrl::Sqlite(database) = &configuration.storage.url {
            files.push(database.clone());
        }
        files.retain(|file| grants_any(file, OF_GROUP_AND_OTHERS));
        files
    }

    /// Generates keys for one run, as the demo needs.
    #[must_use]
    pub fn for_one_run(entropy: &dyn Entropy) -> Self {
        let ring = Keyring { first: SecretKey::new(*entropy.draw()), others: Vec::new() };
        Self { ring, management: vec![random_base64(entropy)], scoped: Vec::new(), management_file: None }
    }
}

/// Reads the scoped keys of the management API, from their files if necessary.
fn scoped(configuration: &Configuration) -> Result<Vec<ScopedKey>, ProgramError> {
    let read = configuration.management.keys.0.iter().map(|entry| {
        let key = entry.source.read();
        let key =
            key.map_err(|error| failed(format_args!("management.keys: entry \"{}\" {error}", entry.name)))?;
        Ok(ScopedKey { name: entry.name.clone(), key: key.0, scopes: entry.scopes.clone() })
    });
    read.collect()
}

fn ring_file(database: &Path) -> KeyFile {
    KeyFile::beside(database, RING, RING_FILE, "everyone has to sign in again")
}

fn management_file(database: &Path) -> KeyFile {
    KeyFile::beside(database, MANAGEMENT, MANAGEMENT_FILE, "clients of the management API need it")
}

/// Returns a key that is not configured, read from its file or generated, and that file.
fn generated<K: Setting>(
    key: &str,
    url: &StorageUrl,
    beside: fn(&Path) -> KeyFile,
    entropy: &dyn Entropy,
) -> Result<(K, Option<PathBuf>), ProgramError> {
    match url {
        StorageUrl::Memory => {
            let made = K::read(&random_base64(entropy).expose().into());
            Ok((made.map_err(|error| failed(format_args!("{key} {error}")))?, None))
        }
        StorageUrl::Postgres(_) => Err(refused(missing_key(key))),
        StorageUrl::Sqlite(database) => {
            let file = beside(database);
            Ok((file.read_or_make(|| random_base64(entropy))?, Some(file.path)))
        }
    }
}

fn random_base64(entropy: &dyn Entropy) -> Secret {
    Secret::new(STANDARD.encode(entropy.draw().as_slice()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        configuration::{self, Layers},
        system::SystemEntropy,
    };

    fn configured(url: StorageUrl) -> Configuration {
        let mut configuration = configuration::load(&Layers::none()).unwrap().configuration;
        configuration.storage.url = url;
        configuration
    }

    #[test]
    fn generates_keys_once_beside_the_database_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let configuration = configured(StorageUrl::Sqlite(folder.path().join("a.db")));
        let first = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        let again = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        assert_eq!(first.ring.first, again.ring.first);
        assert_eq!(first.management, again.management);
        assert_eq!(first.management_file, Some(folder.path().join("a.db.management-key")));
        for name in ["a.db.key", "a.db.management-key"] {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn refuses_keys_that_open_no_sealed_token() {
        let user = UserId::new(7).unwrap();
        let sealed = |key: &SecretKey| {
            let vault = SealingVault::new(key, &[], Arc::new(SystemEntropy));
            (user, vault.seal(user, b"tokens"))
        };
        let (one, other) = (SecretKey::new([1; 32]), SecretKey::new([2; 32]));
        let folder = tempfile::tempdir().unwrap();
        let mut configuration = configured(StorageUrl::Sqlite(folder.path().join("a.db")));
        let check =
            |configuration: &Configuration, sealed: &[_]| Keys::check_ring(configuration, sealed).ok();

        // There is no key, and the check generates none.
        assert_eq!(check(&configuration, &[]), Some(false));
        assert_eq!(check(&configuration, &[sealed(&one)]), None);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        // `resolve` reports a file without a key.
        std::fs::write(folder.path().join("a.db.key"), "no key").unwrap();
        assert_eq!(check(&configuration, &[sealed(&one)]), Some(false));

        configuration.secrets.key = Some(Keyring { first: other.clone(), others: vec![] });
        assert_eq!(check(&configuration, &[sealed(&one)]), None);
        assert_eq!(check(&configuration, &[sealed(&one), sealed(&other)]), Some(true));
        let never_sealed = (user, Sealed::from_bytes(b"never sealed".to_vec()));
        assert_eq!(check(&configuration, &[never_sealed]), Some(false));
        configuration.secrets.key = Some(Keyring { first: other, others: vec![one.clone()] });
        assert_eq!(check(&configuration, &[sealed(&one)]), Some(true));
    }

    #[test]
    fn generates_new_keys_per_run_in_memory() {
        let resolve = || Keys::resolve(&configured(StorageUrl::Memory), &SystemEntropy).unwrap();
        assert_ne!(resolve().ring.first, resolve().ring.first);
        assert_ne!(resolve().management, resolve().management);
    }

    #[test]
    fn requires_configured_keys_on_postgresql() {
        let url = StorageUrl::Postgres(Secret::new("postgres://host/db".to_owned()));
        let configuration = configured(url);
        let refused = Keys::resolve(&configuration, &SystemEntropy).unwrap_err().to_string();
        assert!(refused.starts_with("secrets.key (taken together): must be set"), "{refused}");
    }

    #[test]
    fn key_files_are_ignored_by_git() {
        let ignored: Vec<_> = include_str!("../../../../.gitignore").lines().collect();
        for ending in ["", "-wal", "-shm", RING_FILE, MANAGEMENT_FILE] {
            assert!(ignored.contains(&&*format!("*.db{ending}")), "*.db{ending}");
        }
        assert!(ignored.contains(&"*.partial"));
    }
}
