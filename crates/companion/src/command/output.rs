//! Output of commands: tables, times and progress.

use super::error::CommandError;
use companion_domain::model::Timestamp;
use std::{
    fmt::{Display, Write as _},
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};
use time::UtcDateTime;

/// Writes to standard output. A closed pipe, as after `head`, is not an error.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::Failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns the count and the noun, in the plural unless the count is 1.
pub(super) fn counted<N: Copy + Display + From<u8> + PartialEq>(count: N, what: &str) -> String {
    format!("{count} {what}{}", if count == N::from(1) { "" } else { "s" })
}

/// Rows under a header, with the same columns in every format.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&name| name.to_owned()).collect()] }
    }

    pub(super) fn push(&mut self, row: &[String]) {
        // Names come from users: control characters could drive the terminal or forge a column.
        self.rows.push(row.iter().map(|cell| cell.replace(char::is_control, "\u{fffd}")).collect());
    }

    /// Returns aligned columns on a terminal, and columns separated by tabs elsewhere, for `cut` and `awk`.
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

/// Interval between updates of the number on the terminal.
const REFRESH_INTERVAL: Duration = Duration::from_millis(100);

/// Counts records on standard error if that is a terminal; otherwise prints nothing.
pub(super) struct Progress {
    verb: &'static str,
    count: u64,
    last_shown: Option<Instant>,
}

impl Progress {
    pub(super) fn new(verb: &'static str) -> Self {
        Self { verb, count: 0, last_shown: io::stderr().is_terminal().then(Instant::now) }
    }

    /// Adds to the count.
    pub(super) fn add(&mut self, records: usize) {
        self.count += records as u64;
        if self.last_shown.is_some_and(|last_shown| last_shown.elapsed() >= REFRESH_INTERVAL) {
            self.last_shown = Some(Instant::now());
            self.show();
        }
    }

    /// Clears the line and returns the total.
    pub(super) fn finish(self) -> u64 {
        if self.last_shown.is_some() {
            // A terminal that cannot be written to does not affect the work.
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        self.count
    }

    fn show(&self) {
        let _ = write!(io::stderr(), "\r{} {} records", self.verb, self.count);
        let _ = io::stderr().flush();
    }
}

/// Formats a time in UTC, to the second: `2026-01-31 12:00:00`.
pub(super) fn utc(time: Timestamp) -> String {
    match UtcDateTime::from_unix_timestamp(time.seconds()) {
        Ok(date) => {
            let (hour, minute, second) = date.as_hms();
            format!("{} {hour:02}:{minute:02}:{second:02}", date.date())
        }
        // Outside of the calendar's range, so print the seconds.
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
    fn aligns_columns_on_a_terminal_and_separates_by_tabs_elsewhere() {
        assert_eq!(table().aligned(), "ID   NAME\n1    a\u{fffd}[31m\u{fffd}b\n200\n");
        assert_eq!(table().separated(), "ID\tNAME\n1\ta\u{fffd}[31m\u{fffd}b\n200\t\n");
    }

    #[test]
    fn formats_times_in_utc_to_the_second() {
        assert_eq!(utc(Timestamp::from_seconds(1_769_860_799).unwrap()), "2026-01-31 11:59:59");
        assert_eq!(utc(Timestamp::EPOCH), "1970-01-01 00:00:00");
    }
}
