//! Progress of long work, for those who watch a terminal.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

/// How often the number on the terminal changes.
const REFRESH_INTERVAL: Duration = Duration::from_millis(100);

/// Counts records on standard error, where that is a terminal; says nothing elsewhere.
pub(super) struct Progress {
    verb: &'static str,
    count: u64,
    last_shown: Option<Instant>,
}

impl Progress {
    pub(super) fn new(verb: &'static str) -> Self {
        Self { verb, count: 0, last_shown: io::stderr().is_terminal().then(Instant::now) }
    }

    /// So many more.
    pub(super) fn add(&mut self, records: usize) {
        self.count += records as u64;
        if self.last_shown.is_some_and(|last_shown| last_shown.elapsed() >= REFRESH_INTERVAL) {
            self.last_shown = Some(Instant::now());
            self.show();
        }
    }

    /// How many there were in all. Leaves the line clean.
    pub(super) fn finish(self) -> u64 {
        if self.last_shown.is_some() {
            // Whether the terminal took it is of no consequence to the work.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        self.count
    }

    fn show(&self) {
        let _ = write!(io::stderr(), "\r{} {} records", self.verb, self.count);
        let _ = io::stderr().flush();
    }
}
