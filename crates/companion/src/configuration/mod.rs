//! The configuration: built-in defaults, then a file, then the environment.
//!
//! [`KEYS`] is the only table of all keys. [`load`] reads the layers and returns either a complete [`Configuration`] or
//! all errors at once, each with its key, source, problem and fix.

mod addresses;
mod agreement;
mod appearance;
mod environment;
mod error;
mod file;
mod files;
mod keys;
mod reader;
mod reference;
mod secrets;
mod setting;
mod storage_url;

pub(crate) use self::appearance::read_logo;
pub(crate) use self::{addresses::is_loopback, agreement::missing_key, files::open_regular, keys::variable};
pub use self::{
    addresses::{AddressRange, ListenAddress, RedirectUri, SiteUrl},
    appearance::Features,
    environment::Variables,
    error::{ConfigurationError, KeyError, Source, ValueError},
    file::{ConfigurationFile, DEFAULT_FILE},
    files::{TlsFiles, TlsText},
    keys::{
        Bot, Cache, Configuration, Dashboard, Fallback, Guilds, Http, Identity, KEYS, Key, Limits, Log,
        Management, Secrets, Sessions, Storage, Team,
    },
    reader::Effective,
    reference::{reference, sample, schema},
    secrets::{KeySource, Keyring, ManagementKey, ManagementKeys, ScopedKey, ScopedKeys, SecretUrl},
    setting::{ByteSize, ClientId, Line, LogFormat, Provider, Setting},
    storage_url::StorageUrl,
};

use reader::Reader;
use std::{fmt, path::PathBuf};

/// The sources of the layers.
#[derive(Clone)]
pub struct Layers {
    /// Overrides the defaults.
    pub file: ConfigurationFile,
    /// Overrides the file.
    pub environment: Variables,
}

impl fmt::Debug for Layers {
    /// Prints only the names of variables, because values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Layers").field("file", &self.file).field("environment", &names).finish()
    }
}

impl Layers {
    /// Returns the layers of this process: the named file, or the default one if it exists, and the process
    /// environment.
    #[must_use]
    pub fn of_process(named: Option<PathBuf>) -> Self {
        Self {
            file: named
                .map_or_else(|| ConfigurationFile::IfPresent(DEFAULT_FILE.into()), ConfigurationFile::Named),
            environment: std::env::vars_os().collect(),
        }
    }

    /// Returns only the built-in defaults.
    #[must_use]
    pub const fn none() -> Self {
        Self { file: ConfigurationFile::None, environment: Vec::new() }
    }

    /// Adds a variable, for programs that start a service in their own process.
    #[must_use]
    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.environment.push((variable.into(), value.into()));
        self
    }
}

/// A configuration, and the source of each value.
#[derive(Debug)]
pub struct Loaded {
    /// Every key with its effective value.
    pub configuration: Configuration,
    /// Every key with its value in printable form.
    pub effective: Vec<Effective>,
    /// Accepted settings, and ignored variables with names like ours, that are probably mistakes.
    pub warnings: Vec<KeyError>,
}

/// Loads the configuration for commands that need only a part of it.
pub fn load(layers: &Layers) -> Result<Loaded, ConfigurationError> {
    without_errors(load_all(layers, |_| Vec::new())?)
}

/// Loads the configuration for `serve`, and fails if it could not be served.
pub fn load_for_serving(layers: &Layers) -> Result<Loaded, ConfigurationError> {
    without_errors(examine(layers)?)
}

/// Loads as much as possible for diagnosis. Invalid values are replaced by their defaults; the second element lists
/// everything that `serve` would refuse.
pub fn examine(layers: &Layers) -> Result<(Loaded, Vec<KeyError>), ConfigurationError> {
    load_all(layers, agreement::check_serving)
}

fn without_errors((loaded, errors): (Loaded, Vec<KeyError>)) -> Result<Loaded, ConfigurationError> {
    if errors.is_empty() { Ok(loaded) } else { Err(ConfigurationError::new(errors)) }
}

fn load_all(
    layers: &Layers,
    further: impl FnOnce(&Configuration) -> Vec<KeyError>,
) -> Result<(Loaded, Vec<KeyError>), ConfigurationError> {
    let mut reader = Reader::default();
    file::read(&layers.file, &mut reader);
    environment::read(&layers.environment, &mut reader);
    let configuration = Configuration::read(&mut reader);
    let Reader { mut errors, mut effective, .. } = reader;
    let Some(mut configuration) = configuration else { return Err(ConfigurationError::new(errors)) };
    let mut disagreements = agreement::check(&configuration, &effective);
    disagreements.extend(further(&configuration));
    disagreements.retain(|error| !error.follows_from(&errors));
    let mut warnings = environment::unread(&layers.environment);
    warnings.extend(agreement::warnings(&configuration));
    warnings.retain(|warning| !warning.follows_from(&errors));
    errors.extend(disagreements);
    agreement::lower_defaults(&mut configuration, &mut effective);
    Ok((Loaded { configuration, effective, warnings }, errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    /// A temporary folder with a configuration file, and an environment.
    pub(super) struct Given {
        folder: TempDir,
        pub(super) layers: Layers,
    }

    impl Given {
        pub(super) fn nothing() -> Self {
            Self { folder: TempDir::new().unwrap(), layers: Layers::none() }
        }

        pub(super) fn file(text: &str) -> Self {
            let mut given = Self::nothing();
            let path = given.write("companion.toml", text);
            given.layers.file = ConfigurationFile::Named(path);
            given
        }

        pub(super) fn with(mut self, variable: &str, value: &str) -> Self {
            self.layers = self.layers.with(variable, value);
            self
        }

        /// Sets variables, named without their prefix.
        pub(super) fn variables(variables: &[(&str, &str)]) -> Self {
            let set =
                |given: Self, (name, value): &(&str, &str)| given.with(&format!("COMPANION_{name}"), value);
            variables.iter().fold(Self::nothing(), set)
        }

        pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        }

        pub(super) fn loaded(&self) -> Loaded {
            load(&self.layers).unwrap_or_else(|errors| panic!("{errors}"))
        }

        pub(super) fn configuration(&self) -> Configuration {
            self.loaded().configuration
        }

        pub(super) fn errors(&self) -> Vec<KeyError> {
            load(&self.layers).err().map(|errors| errors.as_slice().to_vec()).unwrap_or_default()
        }

        pub(super) fn error(&self) -> KeyError {
            let errors = self.errors();
            assert_eq!(errors.len(), 1, "{errors:?}");
            errors[0].clone()
        }

        /// Returns the source of a key's value, and the value in printable form.
        pub(super) fn effective(&self, path: &str) -> (Source, String) {
            let effective = self.loaded().effective;
            let found = effective.into_iter().find(|effective| effective.key.path == path).unwrap();
            (found.source, found.value)
        }
    }

    #[test]
    fn the_environment_overrides_the_file_and_the_file_the_defaults() {
        let given =
            Given::file("[sessions]\nlifetime = '10d'\nidle = '5d'").with("COMPANION_SESSIONS__IDLE", "2d");
        let sessions = given.configuration().sessions;
        assert_eq!(sessions.lifetime.to_string(), "10d");
        assert_eq!(sessions.idle.to_string(), "2d");
        assert_eq!(sessions.per_user.get(), 10);
        assert!(matches!(given.effective("sessions.lifetime").0, Source::Line(_, 2)));
        assert_eq!(given.effective("sessions.idle").0, Source::Variable("COMPANION_SESSIONS__IDLE".into()));
    }

    #[test]
    fn the_default_file_may_be_absent_and_a_named_one_must_exist() {
        let mut given = Given::nothing();
        let path = given.folder.path().join("companion.toml");
        given.layers.file = ConfigurationFile::IfPresent(path);
        assert_eq!(given.configuration().http.listen.port, 8080);
        given.write("companion.toml", "http.listen = 'localhost:1'");
        assert_eq!(given.configuration().http.listen.port, 1);
        let path = given.folder.path().join("other.toml");
        given.layers.file = ConfigurationFile::Named(path.clone());
        let error = given.error();
        assert_eq!(error.source, Source::File(path));
        assert!(error.problem.starts_with("cannot be read"), "{error}");
    }

    #[test]
    fn checks_overridden_values_too() {
        let given = Given::file("[sessions]\nidle = 'soon'").with("COMPANION_SESSIONS__IDLE", "2d");
        assert!(matches!(given.error().source, Source::Line(_, 2)));
    }
}
