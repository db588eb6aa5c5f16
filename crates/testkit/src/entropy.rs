//! Repeatable randomness.

use companion_domain::{port::Entropy, rules::Seed};
use std::sync::atomic::{AtomicU64, Ordering};

/// Random bytes that are the same in every run with the same seed: the SplitMix64 generator. Good enough for
/// statistics, but predictable, so only for tests.
#[derive(Debug)]
pub struct SeededEntropy(AtomicU64);

/// The increment of SplitMix64: odd, and without a pattern in its bits.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl SeededEntropy {
    /// Creates the sequence of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns a seed for one pick; each call returns another.
    #[must_use]
    pub fn seed(&self) -> Seed {
        Seed::new(*self.draw())
    }

    /// Returns a number below `bound`, which must not be zero. The modulo bias is negligible for small bounds.
    #[must_use]
    pub fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or_default()
    }

    fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Default for SeededEntropy {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            for (target, byte) in chunk.iter_mut().zip(self.next().to_le_bytes()) {
                *target = byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_splitmix64_values() {
        let entropy = SeededEntropy::new(1_234_567);
        let drawn = [entropy.next(), entropy.next()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
