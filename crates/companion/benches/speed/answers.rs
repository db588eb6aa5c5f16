//! Where an answer ends.

use anyhow::Context as _;
use memchr::memmem;

/// Bytes that came in and were not told apart yet.
#[derive(Default)]
pub(crate) struct Answers {
    bytes: Vec<u8>,
    start: usize,
}

impl Answers {
    /// Room for what comes in next: everything that is read is appended here.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        &mut self.bytes
    }

    /// Takes one whole answer out, if there is one. Any but a 200 is an error: a refusal is no measure of speed.
    pub(crate) fn take(&mut self) -> anyhow::Result<bool> {
        let rest = self.bytes.get(self.start..).unwrap_or_default();
        let Some(head) = memmem::find(rest, b"\r\n\r\n") else { return Ok(false) };
        let (head, _) = rest.split_at(head);
        if !head.starts_with(b"HTTP/1.1 200") {
            anyhow::bail!("an answer that is not 200: {}", String::from_utf8_lossy(rest));
        }
        let length = content_length(head).context("an answer without a length")?;
        let whole = head.len() + 4 + length;
        let complete = rest.len() >= whole;
        if complete {
            self.start += whole;
        }
        Ok(complete)
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let digits = head.get(memmem::find(head, NAME)? + NAME.len()..)?;
    let digits = digits.split(|byte| *byte == b'\r').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
