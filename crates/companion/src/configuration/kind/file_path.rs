//! Where a file is.

use crate::configuration::{
    raw::Raw,
    refusal::Refusal,
    setting::{Setting, quoted},
};
use std::path::PathBuf;

/// The path of a file; a relative one begins in the working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

impl Setting for FilePath {
    fn read(raw: &Raw) -> Result<Self, Refusal> {
        let path = raw.text()?;
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(Refusal::must_be("the path of a file"));
        }
        Ok(Self(path.into()))
    }

    fn show(&self) -> String {
        quoted(&self.0.display())
    }
}
