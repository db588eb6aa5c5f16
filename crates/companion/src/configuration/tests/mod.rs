//! What the layers promise, one file for each.

mod defaults;
mod environment;
mod file;
mod layers;
mod mistakes;
mod texts;

use super::{Configuration, ConfigurationFile, Layers, Loaded, Mistake, Source, load};
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A folder with a configuration file and an environment beside it.
struct Given {
    folder: TempDir,
    layers: Layers,
}

impl Given {
    fn nothing() -> Self {
        Self { folder: TempDir::new().unwrap(), layers: Layers::none() }
    }

    fn file(text: &str) -> Self {
        let mut given = Self::nothing();
        let path = given.write("companion.toml", text);
        given.layers.file = ConfigurationFile::Named(path);
        given
    }

    fn with(mut self, variable: &str, value: &str) -> Self {
        self.layers = self.layers.with(variable, value);
        self
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn loaded(&self) -> Loaded {
        load(&self.layers).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    fn configuration(&self) -> Configuration {
        self.loaded().configuration
    }

    fn mistakes(&self) -> Vec<Mistake> {
        load(&self.layers).err().map(|mistakes| mistakes.as_slice().to_vec()).unwrap_or_default()
    }

    fn mistake(&self) -> Mistake {
        let mistakes = self.mistakes();
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        mistakes[0].clone()
    }

    /// Where the value of a key came from, and how it is shown.
    fn effective(&self, path: &str) -> (Source, String) {
        let effective = self.loaded().effective;
        let found = effective.into_iter().find(|effective| effective.key.path == path).unwrap();
        (found.source, found.value)
    }
}
