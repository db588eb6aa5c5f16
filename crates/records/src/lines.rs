//! Splitting a stream of bytes into lines, and parsing the lines.

use crate::line::{Accepted, read_line};
use companion_domain::port::{InvalidLineError, Numbered};

/// Maximum length of a line, in bytes. A guild with every role bound to every key stays below it.
const MAX_LINE_LENGTH: usize = 256 * 1024;

/// Parses a stream of bytes in chunks of any size into the records of its lines. Empty lines are skipped; the last
/// line needs no newline.
#[derive(Debug)]
pub struct Lines {
    accepted: Accepted,
    /// The beginning of a line whose end has not arrived yet.
    partial_line: Vec<u8>,
    /// Number of complete lines.
    completed_lines: u64,
}

impl Lines {
    /// Creates a parser for these kinds of lines.
    #[must_use]
    pub fn new(accepted: Accepted) -> Self {
        Self { accepted, partial_line: Vec::new(), completed_lines: 0 }
    }

    /// Takes the next chunk. Returns the records of the lines that it completes.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Numbered>, InvalidLineError> {
        let mut records = Vec::new();
        let mut parts = bytes.split(|byte| *byte == b'\n');
        // The last piece has no newline yet; all before it complete a line.
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            if self.partial_line.is_empty() {
                records.extend(self.line(part)?);
            } else {
                self.buffer(part)?;
                let line = std::mem::take(&mut self.partial_line);
                records.extend(self.line(&line)?);
            }
        }
        self.buffer(last)?;
        Ok(records)
    }

    /// Ends the stream. Returns the record of a last line without a newline.
    pub fn finish(mut self) -> Result<Option<Numbered>, InvalidLineError> {
        let line = std::mem::take(&mut self.partial_line);
        self.line(&line)
    }

    fn buffer(&mut self, part: &[u8]) -> Result<(), InvalidLineError> {
        self.partial_line.extend_from_slice(part);
        if self.partial_line.len() > MAX_LINE_LENGTH {
            Err(too_long(self.completed_lines + 1))
        } else {
            Ok(())
        }
    }

    fn line(&mut self, bytes: &[u8]) -> Result<Option<Numbered>, InvalidLineError> {
        self.completed_lines += 1;
        let line = self.completed_lines;
        if bytes.len() > MAX_LINE_LENGTH {
            return Err(too_long(line));
        }
        let bytes = bytes.trim_ascii();
        if bytes.is_empty() {
            return Ok(None);
        }
        match read_line(bytes, self.accepted) {
            Ok(record) => Ok(Some(Numbered { line, record })),
            Err(errors) => Err(InvalidLineError { line, errors }),
        }
    }
}

fn too_long(line: u64) -> InvalidLineError {
    InvalidLineError::with_field(line, "", "is longer than 256 KiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use companion_domain::{model::UserId, port::Record};

    const STREAM: &str = "{\"kind\":\"blocked\",\"user\":\"1\"}\n\n  {\"kind\":\"blocked\",\"user\":\"2\"}\r\n{\"kind\":\"blocked\",\"user\":\"3\"}";

    fn blocked(line: u64, user: u64) -> Numbered {
        Numbered { line, record: Record::Blocked(UserId::new(user).unwrap()) }
    }

    #[test]
    fn parses_records_in_chunks_of_any_size() {
        for size in 1..=STREAM.len() {
            let mut lines = Lines::new(Accepted::World);
            let mut records = Vec::new();
            for chunk in STREAM.as_bytes().chunks(size) {
                records.extend(lines.take(chunk).unwrap());
            }
            records.extend(lines.finish().unwrap());
            assert_eq!(records, [blocked(1, 1), blocked(3, 2), blocked(4, 3)], "in chunks of {size}");
        }
    }

    #[test]
    fn reports_all_errors_of_a_line_with_its_number() {
        let text = b"{\"kind\":\"blocked\",\"user\":\"1\"}\n{\"kind\":\"member\",\"user\":1,\"rolls\":[]}\n";
        let error = Lines::new(Accepted::World).take(text).unwrap_err();
        assert_eq!(error.line, 2);
        assert_eq!(
            error.to_string(),
            "line 2: guild is missing; user must be text; roles is missing; rolls is not known here; known are kind, \
             guild, user, roles"
        );
        let paths: Vec<_> = error.into_field_errors().into_iter().map(|error| error.path).collect();
        assert_eq!(paths, ["line 2: guild", "line 2: user", "line 2: roles", "line 2: rolls"]);
    }

    #[test]
    fn rejects_invalid_json_and_overlong_lines() {
        let mut lines = Lines::new(Accepted::World);
        let refused = lines.take(b"{\"kind\":}\n").unwrap_err();
        assert_eq!(refused.to_string(), "line 1: is not JSON: expected value at column 9");
        let mut lines = Lines::new(Accepted::World);
        let endless = vec![b' '; 64 * 1024];
        let refused = (0..8).find_map(|_| lines.take(&endless).err());
        assert_eq!(refused.unwrap().to_string(), "line 1: is longer than 256 KiB");
        let whole = [vec![b' '; MAX_LINE_LENGTH + 1], vec![b'\n']].concat();
        let refused = Lines::new(Accepted::World).take(&whole).unwrap_err();
        assert_eq!(refused.to_string(), "line 1: is longer than 256 KiB", "in one chunk");
    }

    #[test]
    fn accepts_sessions_and_grants_only_in_archives() {
        let id = "0".repeat(64);
        let line = format!(r#"{{"kind":"session","id":"{id}","user":"1","created_at":1,"last_seen_at":2}}"#);
        assert!(matches!(read_line(line.as_bytes(), Accepted::Archive), Ok(Record::Session(_))));
        let refused = read_line(line.as_bytes(), Accepted::World).unwrap_err();
        assert_eq!(refused[0].path, "kind");
    }
}
