//! Several measurements of one thing.

use std::fmt;

/// The median of some measurements, and their quartiles: half of them lie between.
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

    /// The ratios of measurements that were made side by side.
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
