//! Lists of things, for people and for scripts.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal as _},
};

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
}
