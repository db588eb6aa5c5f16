//! The configuration: built-in defaults, then a file, then the environment.
//!
//! [`KEYS`] is the one table of all keys. [`load`] reads the layers and either gives a whole [`Configuration`] or every
//! mistake at once, each with its key, its place, what is wrong and what to do.

mod agreement;
mod environment;
mod file;
mod key;
mod keys;
mod kind;
mod likeness;
mod mistake;
mod nearest;
mod raw;
mod reader;
mod reference;
pub(crate) mod regular_file;
mod setting;
#[cfg(test)]
mod tests;
mod tls_files;

pub(crate) use self::agreement::missing_key;
pub use self::{
    environment::{UnreadVariable, Variables},
    file::{ConfigurationFile, USUAL_FILE},
    key::{Fallback, Key},
    keys::{
        Bot, Cache, Configuration, Dashboard, Guilds, Http, Identity, KEYS, Limits, Log, Management, Secrets,
        Sessions, Storage, Team,
    },
    kind::{
        AddressRange, ByteSize, ClientId, DisplayName, FilePath, KeySource, Keyring, ListenAddress,
        LogFormat, LogLevel, ManagementKey, ManagementKeys, Provider, RedirectUri, ScopedKey, ScopedKeys,
        SiteUrl, StorageUrl,
    },
    mistake::{Mistake, Mistakes, Refusal, Source},
    raw::Raw,
    reader::Effective,
    reference::{reference, sample, schema},
    setting::Setting,
    tls_files::{TlsFiles, TlsText},
};

use reader::Reader;
use std::{fmt, path::PathBuf};

/// Where the layers are.
#[derive(Clone)]
pub struct Layers {
    /// Read first, over the defaults.
    pub file: ConfigurationFile,
    /// Read last, so that it overrides the file.
    pub environment: Variables,
}

impl fmt::Debug for Layers {
    /// The names of variables only: among their values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Layers").field("file", &self.file).field("environment", &names).finish()
    }
}

impl Layers {
    /// The layers of this process: the named file, or the usual one where it exists, and the process's environment.
    #[must_use]
    pub fn of_process(named: Option<PathBuf>) -> Self {
        Self {
            file: named
                .map_or_else(|| ConfigurationFile::IfPresent(USUAL_FILE.into()), ConfigurationFile::Named),
            environment: std::env::vars_os().collect(),
        }
    }

    /// No layer but the built-in defaults.
    #[must_use]
    pub const fn none() -> Self {
        Self { file: ConfigurationFile::None, environment: Vec::new() }
    }

    /// The same layers with one more variable, for those who start a service in their own process.
    #[must_use]
    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.environment.push((variable.into(), value.into()));
        self
    }
}

/// A configuration, and where each of its values came from.
#[derive(Debug)]
pub struct Loaded {
    /// Every key with its effective value.
    pub configuration: Configuration,
    /// Every key with its value in a form that may be shown.
    pub effective: Vec<Effective>,
    /// Variables that look like ours and are not.
    pub unread: Vec<UnreadVariable>,
    /// What is accepted, and hardly meant so.
    pub warnings: Vec<Mistake>,
}

/// Reads the layers, for those who need a part of them.
pub fn load(layers: &Layers) -> Result<Loaded, Mistakes> {
    read(layers, |_| Vec::new())
}

/// Reads the layers, and refuses what could not be served.
pub fn load_for_serving(layers: &Layers) -> Result<Loaded, Mistakes> {
    read(layers, agreement::check_serving)
}

/// Reads the layers as far as they can be followed, for those who look at what is wrong: where a value is wrong, its default
/// stands in, and the mistakes are everything that keeps `serve` from accepting it.
pub fn examine(layers: &Layers) -> Result<(Loaded, Vec<Mistake>), Mistakes> {
    gather(layers, agreement::check_serving)
}

fn read(layers: &Layers, further: impl FnOnce(&Configuration) -> Vec<Mistake>) -> Result<Loaded, Mistakes> {
    match gather(layers, further)? {
        (loaded, mistakes) if mistakes.is_empty() => Ok(loaded),
        (_, mistakes) => Err(Mistakes::new(mistakes)),
    }
}

fn gather(
    layers: &Layers,
    further: impl FnOnce(&Configuration) -> Vec<Mistake>,
) -> Result<(Loaded, Vec<Mistake>), Mistakes> {
    let mut reader = Reader::default();
    file::read(&layers.file, &mut reader);
    environment::read(&layers.environment, &mut reader);
    let configuration = Configuration::read(&mut reader);
    let Reader { mut mistakes, mut effective, .. } = reader;
    let Some(mut configuration) = configuration else { return Err(Mistakes::new(mistakes)) };
    let mut disagreements = agreement::check(&configuration, &effective);
    disagreements.extend(further(&configuration));
    disagreements.retain(|mistake| !mistake.follows_from(&mistakes));
    let mut warnings = agreement::warnings(&configuration);
    warnings.retain(|warning| !warning.follows_from(&mistakes));
    mistakes.extend(disagreements);
    agreement::settle(&mut configuration, &mut effective);
    let unread = environment::unread(&layers.environment);
    Ok((Loaded { configuration, effective, unread, warnings }, mistakes))
}
