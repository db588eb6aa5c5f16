//! How fast the sample world moves.

use std::time::Duration;

/// Intervals of the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Between two reports of the bot.
    pub report: Duration,
    /// Between two steps of the world.
    pub step: Duration,
}

impl Default for Pace {
    /// Reports that keep every cluster alive, and steps that are slow enough to be read.
    fn default() -> Self {
        Self { report: Duration::from_secs(5), step: Duration::from_secs(4) }
    }
}
