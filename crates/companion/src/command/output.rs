//! Output of commands: tables, times and progress.

use crate::error::{ProgramError, failed};
use companion_domain::model::Timestamp;
use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};
use time::UtcDateTime;

/// Writes to standard output. A closed pipe, as after `head`, is not an error.
pub(super) fn print(text: &str) -> Result<(), ProgramError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(failed(format_args!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns the count and the noun, in the plural unless the count is 1.
pub(super) fn counted<N: Copy + Display + From<u8> + PartialEq>(count: N, what: &str) -> String {
    format!("{count} {what}{}", if count == N::from(1) { "" } else { "s" })
}

/// Renders rows as aligned columns for a terminal, or separated by tabs for `cut` and `awk`.
pub(super) fn table<const N: usize>(rows: &[[String; N]], is_terminal: bool) -> String {
    // Names come from users: control characters could drive the terminal or forge a column.
    let rows = rows.iter().map(|row| row.each_ref().map(|cell| cell.replace(char::is_control, "\u{fffd}")));
    let rows: Vec<_> = rows.collect();
    let mut widths = [0; N];
    for row in rows.iter().filter(|_| is_terminal) {
        let wider = row.iter().zip(&mut widths);
        wider.for_each(|(cell, width)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &[String; N]| {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        if is_terminal { cells.join("  ").trim_end().to_owned() } else { cells.join("\t") }
    };
    rows.iter().map(|row| line(row) + "\n").collect()
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

    #[test]
    fn aligns_columns_on_a_terminal_and_separates_by_tabs_elsewhere() {
        let rows = [["ID", "NAME"], ["1", "a\u{1b}[31m\tb"], ["200", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows, true), "ID   NAME\n1    a\u{fffd}[31m\u{fffd}b\n200\n");
        assert_eq!(table(&rows, false), "ID\tNAME\n1\ta\u{fffd}[31m\u{fffd}b\n200\t\n");
    }

    #[test]
    fn formats_times_in_utc_to_the_second() {
        assert_eq!(utc(Timestamp::from_seconds(1_769_860_799).unwrap()), "2026-01-31 11:59:59");
        assert_eq!(utc(Timestamp::EPOCH), "1970-01-01 00:00:00");
    }
}
