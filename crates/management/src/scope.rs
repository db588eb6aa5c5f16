//! What a key of the management API may do.

/// A part of the management API that a key can be for. Which path is in which part stands in the table of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Reporting what the bot knows, and hearing of changes.
    Feed,
    /// Sessions, and what is stored about people.
    People,
    /// Reading the metrics.
    Metrics,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Feed, Self::People, Self::Metrics];

    /// What it is called in the configuration and in refusals.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::People => "people",
            Self::Metrics => "metrics",
        }
    }
}
