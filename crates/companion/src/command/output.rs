//! What commands print.

use super::failure::Failure;
use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// Writes to standard output. A reader that went away, as `head` does, is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// So many of these, in words.
pub(super) fn counted<N: Copy + Display + From<u8> + PartialEq>(count: N, what: &str) -> String {
    format!("{count} {what}{}", if count == N::from(1) { "" } else { "s" })
}
