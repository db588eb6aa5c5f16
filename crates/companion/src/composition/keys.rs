//! The keys of our own: configured, or made once and kept beside the SQLite file.

use super::Unserviceable;
use crate::configuration::{Configuration, Keyring, ManagementKey, StorageUrl, missing_key};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use companion_domain::{
    model::{Secret, SecretKey},
    port::Entropy,
};
use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

const RING: &str = "secrets.key";
const MANAGEMENT: &str = "management.key";
/// Behind the name of the database, the file with the key that signs and seals.
const RING_FILE: &str = ".key";
/// Behind the name of the database, the file with the key of the management API.
const MANAGEMENT_FILE: &str = ".management-key";

/// The keys of our own.
#[derive(Debug, Clone)]
pub struct Keys {
    /// Sign sessions and seal platform tokens.
    pub ring: Keyring,
    /// Open the management API.
    pub management: Vec<Secret>,
    /// Where the management key was made, for those who look for it.
    pub management_file: Option<PathBuf>,
}

impl Keys {
    /// The configured keys. What is not configured is made: beside a SQLite file, where it is found again, or for this
    /// run where storage is in memory. Nodes that share a PostgreSQL have to share keys too, so there they must be
    /// configured.
    pub fn resolve(configuration: &Configuration, entropy: &dyn Entropy) -> Result<Self, Unserviceable> {
        let url = &configuration.storage.url;
        let ring = Self::ring(configuration, entropy)?;
        let (management, management_file) = match &configuration.management.key {
            Some(keys) => {
                let all = std::iter::once(&keys.first).chain(&keys.others);
                (all.map(|key| key.0.clone()).collect(), None)
            }
            None => {
                let (key, file) = made(MANAGEMENT, url, MANAGEMENT_FILE, entropy)?;
                let key = ManagementKey::new(key.expose()).map_err(|refusal| {
                    let file = file.as_deref().unwrap_or(Path::new(MANAGEMENT_FILE));
                    Unserviceable::Refused(format!("{MANAGEMENT}: what {} holds {refusal}", file.display()))
                })?;
                (vec![key.0], file)
            }
        };
        Ok(Self { ring, management, management_file })
    }

    /// Only the keys that sign and seal.
    pub fn ring(configuration: &Configuration, entropy: &dyn Entropy) -> Result<Keyring, Unserviceable> {
        if let Some(ring) = &configuration.secrets.key {
            return Ok(ring.clone());
        }
        let (key, _) = made(RING, &configuration.storage.url, RING_FILE, entropy)?;
        let first = key
            .expose()
            .parse::<SecretKey>()
            .map_err(|invalid| Unserviceable::Failed(format!("the file made for {RING}: {invalid}")))?;
        Ok(Keyring { first, others: Vec::new() })
    }

    /// Keys for one run, as the demo needs them.
    #[must_use]
    pub fn for_one_run(entropy: &dyn Entropy) -> Self {
        let ring = Keyring { first: SecretKey::new(*random(entropy)), others: Vec::new() };
        Self { ring, management: vec![in_words(entropy)], management_file: None }
    }
}

fn made(
    key: &str,
    url: &StorageUrl,
    behind: &str,
    entropy: &dyn Entropy,
) -> Result<(Secret, Option<PathBuf>), Unserviceable> {
    match url {
        StorageUrl::Memory => Ok((in_words(entropy), None)),
        StorageUrl::Postgres(_) => Err(Unserviceable::Refused(missing_key(key).to_string())),
        StorageUrl::Sqlite(database) => {
            let mut file = OsString::from(database);
            file.push(behind);
            let file = PathBuf::from(file);
            let kept = kept_in(&file, || in_words(entropy));
            let failed =
                |error| Unserviceable::Failed(format!("{key}: cannot use {}: {error}", file.display()));
            kept.map(|secret| (secret, Some(file.clone()))).map_err(failed)
        }
    }
}

/// What the file holds; where there is none, something new that is kept there from now on, for its owner only.
fn kept_in(file: &Path, make: impl FnOnce() -> Secret) -> io::Result<Secret> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Secret::new(Zeroizing::new(text).trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = make();
            let mut created = owner_only().open(file)?;
            created.write_all(secret.expose().as_bytes())?;
            created.write_all(b"\n")?;
            // A key that is lost with the power takes every session with it.
            created.sync_all()?;
            Ok(secret)
        }
        Err(error) => Err(error),
    }
}

fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

fn in_words(entropy: &dyn Entropy) -> Secret {
    Secret::new(STANDARD.encode(random(entropy).as_slice()))
}

fn random(entropy: &dyn Entropy) -> Zeroizing<[u8; 32]> {
    let mut bytes = Zeroizing::new([0; 32]);
    entropy.fill(bytes.as_mut_slice());
    bytes
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
    fn keys_beside_the_database_are_made_once_and_belong_to_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let configuration = configured(StorageUrl::Sqlite(folder.path().join("a.db")));
        let first = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        let again = Keys::resolve(&configuration, &SystemEntropy).unwrap();
        assert_eq!(first.ring.first, again.ring.first);
        assert_eq!(first.management, again.management);
        assert_eq!(first.management_file, Some(folder.path().join("a.db.management-key")));
        #[cfg(unix)]
        for name in ["a.db.key", "a.db.management-key"] {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn in_memory_every_run_has_its_own_keys() {
        let resolve = || Keys::resolve(&configured(StorageUrl::Memory), &SystemEntropy).unwrap();
        assert_ne!(resolve().ring.first, resolve().ring.first);
        assert_ne!(resolve().management, resolve().management);
    }

    #[test]
    fn nodes_on_postgresql_must_be_given_their_keys() {
        let url = StorageUrl::Postgres(Secret::new("postgres://host/db".to_owned()));
        let configuration = configured(url);
        let refused = Keys::resolve(&configuration, &SystemEntropy).unwrap_err().to_string();
        assert!(refused.starts_with("secrets.key (taken together): must be set"), "{refused}");
    }

    #[test]
    fn a_management_key_in_a_file_is_not_to_be_guessed_either() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db.management-key");
        for text in ["", "too-short"] {
            fs::write(&file, text).unwrap();
            let configuration = configured(StorageUrl::Sqlite(folder.path().join("a.db")));
            let refused = Keys::resolve(&configuration, &SystemEntropy).unwrap_err().to_string();
            let expected =
                format!("management.key: what {} holds must be 16 or more printable", file.display());
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }

    #[test]
    fn a_key_file_that_holds_no_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.db.key"), "nonsense").unwrap();
        let configuration = configured(StorageUrl::Sqlite(folder.path().join("a.db")));
        let refused = Keys::resolve(&configuration, &SystemEntropy).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the file made for secrets.key: key must be the base64 of exactly 32 random bytes"
        );
    }
}
