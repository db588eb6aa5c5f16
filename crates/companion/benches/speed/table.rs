//! Tables, number formats, and the spread of rounds.

use std::fmt;

/// Rows of cells. All columns but the first hold figures.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self::with_head(&head)
    }

    pub(crate) fn with_head(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        writeln!(f, "{}", line(&self.head))?;
        writeln!(f, "|---|{}", "---:|".repeat(self.head.len().saturating_sub(1)))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(row)))
    }
}

/// Formats a number with thousands separators.
pub(crate) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats bytes as megabytes.
#[expect(clippy::cast_precision_loss, reason = "far less memory than floating point holds exactly")]
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The median and the quartiles of some measurements.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) quartiles: [f64; 2],
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let quarter = values.len() / 4;
        Self {
            median: at(values.len() / 2),
            quartiles: [at(quarter), at(values.len().saturating_sub(1 + quarter))],
        }
    }

    /// Returns the spread of ratios of measurements made side by side.
    pub(crate) fn of_ratios(values: &[f64], to: &[f64]) -> Self {
        Self::of(values.iter().zip(to).map(|(value, to)| value / to).collect())
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [lower, upper] = self.quartiles;
        write!(f, "{:.2} ({lower:.2}–{upper:.2})", self.median)
    }
}
