//! Requests as bytes.

use super::Load;
use anyhow::Context as _;

/// Requests of one path, each with the next token where there are any.
pub(super) struct Requests {
    before: Vec<u8>,
    tokens: Vec<String>,
}

impl Requests {
    pub(super) fn of(load: &Load) -> anyhow::Result<Self> {
        let before = format!("GET {} HTTP/1.1\r\nHost: {}\r\n", load.path, load.address).into_bytes();
        let tokens = match &load.tokens {
            Some(file) => std::fs::read_to_string(file).with_context(|| file.display().to_string())?,
            None => String::new(),
        };
        Ok(Self { before, tokens: tokens.lines().map(str::to_owned).collect() })
    }

    /// How many differ.
    pub(super) fn count(&self) -> usize {
        self.tokens.len().max(1)
    }

    /// Appends the request of this number.
    pub(super) fn write(&self, number: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before);
        if let Some(token) = self.tokens.get(number % self.count()) {
            out.extend_from_slice(b"Token: ");
            out.extend_from_slice(token.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}
