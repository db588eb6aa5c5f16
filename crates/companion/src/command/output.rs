//! Output of commands: tables, times and progress.

use super::failure::Failure;
use companion_domain::model::Timestamp;
use std::{
    fmt::{Display, Write as _},
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};
use time::UtcDateTime;

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

/// Rows under a header. The columns are the same wherever they are shown.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&name| name.to_owned()).collect()] }
    }

    pub(super) fn push(&mut self, row: &[String]) {
        // What others chose to be called must not be able to direct a terminal, nor look like another column.
        self.rows.push(row.iter().map(|cell| cell.replace(char::is_control, "\u{fffd}")).collect());
    }

    /// Aligned on a terminal, and separated by tabs elsewhere, so that `cut` and `awk` can read it.
    pub(super) fn for_output(&self) -> String {
        if io::stdout().is_terminal() { self.aligned() } else { self.separated() }
    }

    fn aligned(&self) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let length =
            |row: &Vec<String>, column| row.get(column).map_or(0, |cell: &String| cell.chars().count());
        let widths: Vec<_> = (0..columns)
            .map(|column| self.rows.iter().map(|row| length(row, column)).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        text
    }

    fn separated(&self) -> String {
        self.rows.iter().map(|row| row.join("\t") + "\n").collect()
    }
}

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

/// A time of the calendar, in UTC and to the second: `2026-01-31 12:00:00`.
pub(super) fn utc(time: Timestamp) -> String {
    match UtcDateTime::from_unix_timestamp(time.seconds()) {
        Ok(date) => {
            let (hour, minute, second) = date.as_hms();
            format!("{} {hour:02}:{minute:02}:{second:02}", date.date())
        }
        // Beyond the calendar; as good a number as any.
        Err(_) => time.seconds().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "NAME"]);
        table.push(&["1".to_owned(), "a\u{1b}[31m\tb".to_owned()]);
        table.push(&["200".to_owned(), String::new()]);
        table
    }

    #[test]
    fn a_terminal_gets_aligned_columns_and_scripts_get_tabs() {
        assert_eq!(table().aligned(), "ID   NAME\n1    a\u{fffd}[31m\u{fffd}b\n200\n");
        assert_eq!(table().separated(), "ID\tNAME\n1\ta\u{fffd}[31m\u{fffd}b\n200\t\n");
    }

    #[test]
    fn a_time_is_shown_in_utc_to_the_second() {
        assert_eq!(utc(Timestamp::from_seconds(1_769_860_799).unwrap()), "2026-01-31 11:59:59");
        assert_eq!(utc(Timestamp::EPOCH), "1970-01-01 00:00:00");
    }
}
