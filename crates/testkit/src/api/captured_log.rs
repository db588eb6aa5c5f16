//! Captures the log output of a test.

use std::{
    io,
    sync::{Arc, Mutex},
};
use tracing::{
    level_filters::LevelFilter,
    subscriber::{DefaultGuard, set_default},
};
use tracing_subscriber::fmt::{
    MakeWriter, SubscriberBuilder,
    format::{DefaultFields, Format},
};

/// Captured log output.
#[derive(Debug, Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Returns the output since the last call.
    #[must_use]
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Captures what this test logs as JSON, until the guard is dropped.
#[must_use]
pub fn listening_to_json() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let subscriber = writing_to(&lines).json().flatten_event(true).finish();
    (lines, set_default(subscriber))
}

/// Captures what this test logs, until the guard is dropped.
#[must_use]
pub fn listening() -> (Lines, DefaultGuard) {
    let lines = Lines::default();
    let subscriber = writing_to(&lines).with_ansi(false).finish();
    (lines, set_default(subscriber))
}

fn writing_to(lines: &Lines) -> SubscriberBuilder<DefaultFields, Format, LevelFilter, Lines> {
    tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(lines.clone())
}
