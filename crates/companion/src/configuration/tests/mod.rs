//! What the layers promise, one file for each.

mod layers;
mod mistakes;

use super::{Configuration, ConfigurationFile, Layers, Loaded, Mistake, Source, load};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A folder with a configuration file and an environment beside it.
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

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn loaded(&self) -> Loaded {
        load(&self.layers).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    pub(super) fn configuration(&self) -> Configuration {
        self.loaded().configuration
    }

    pub(super) fn mistakes(&self) -> Vec<Mistake> {
        load(&self.layers).err().map(|mistakes| mistakes.as_slice().to_vec()).unwrap_or_default()
    }

    pub(super) fn mistake(&self) -> Mistake {
        let mistakes = self.mistakes();
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        mistakes[0].clone()
    }

    /// Where the value of a key came from, and how it is shown.
    pub(super) fn effective(&self, path: &str) -> (Source, String) {
        let effective = self.loaded().effective;
        let found = effective.into_iter().find(|effective| effective.key.path == path).unwrap();
        (found.source, found.value)
    }
}
