//! Chance that repeats itself.

use companion_domain::port::Entropy as _;
use companion_testkit::entropy::SeededEntropy;
use std::{ops::Range, time::Duration};

pub(super) struct Chance(SeededEntropy);

impl Chance {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SeededEntropy::new(seed))
    }

    /// A number in the range.
    pub(super) fn number(&self, range: Range<u64>) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        range.start + u64::from_le_bytes(bytes) % (range.end - range.start)
    }

    /// A place in something of this length.
    pub(super) fn index(&self, length: usize) -> usize {
        usize::try_from(self.number(0..length as u64)).unwrap()
    }

    /// True so many times in a hundred.
    pub(super) fn percent(&self, hits: u64) -> bool {
        self.number(0..100) < hits
    }

    /// A length of time in the range of seconds, to the microsecond.
    pub(super) fn time(&self, seconds: Range<u64>) -> Duration {
        Duration::from_micros(self.number(seconds.start * 1_000_000..seconds.end * 1_000_000))
    }
}
