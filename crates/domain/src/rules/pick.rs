//! Fair random choice.

use rand::{SeedableRng as _, rngs::StdRng, seq::index::sample};

/// The seed of a pick. Drawn from the `Entropy` port by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// Creates a seed from random bytes.
    #[must_use]
    pub const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Creates the generator of this seed.
    #[must_use]
    pub fn draw(self) -> Draw {
        Draw(StdRng::from_seed(self.0))
    }
}

/// A deterministic generator of random positions.
pub struct Draw(StdRng);

impl Draw {
    /// Returns `count` distinct positions below `population`, or all of them if there are fewer. Each choice and each
    /// order is equally likely. The cost depends on `count` alone.
    pub fn positions(&mut self, population: usize, count: usize) -> Vec<usize> {
        sample(&mut self.0, population, count.min(population)).into_vec()
    }
}

/// Returns `N` distinct positions below `population`, or all of them if there are fewer. Each choice and each order
/// is equally likely, as far as `N` random numbers of 64 bits allow. A faster [`Draw::positions`] for few positions
/// of a large population.
#[must_use]
pub fn sample_few<const N: usize>(population: usize, random: [u64; N]) -> [Option<usize>; N] {
    let mut drawn = [None; N];
    // A Fisher-Yates shuffle of which only the first `N` places are computed: each is swapped with a later one. The
    // swapped positions are noted here.
    let mut exchanged = [(0, 0); N];
    for (place, (drawn, random)) in drawn.iter_mut().zip(random).enumerate() {
        let Some(beyond) = scaled(random, population.saturating_sub(place)) else { break };
        let other = place + beyond;
        let position_at = |wanted| {
            let latest = exchanged.iter().take(place).rev().find(|(at, _)| *at == wanted);
            latest.map_or(wanted, |(_, position)| *position)
        };
        *drawn = Some(position_at(other));
        let left_behind = (other, position_at(place));
        if let Some(note) = exchanged.get_mut(place) {
            *note = left_behind;
        }
    }
    drawn
}

/// Maps a number below 2⁶⁴ to one below `end`.
fn scaled(random: u64, end: usize) -> Option<usize> {
    let scaled = (u128::from(random) * u128::try_from(end).ok()?) >> u64::BITS;
    usize::try_from(scaled).ok().filter(|_| end > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngCore as _;
    use std::collections::HashMap;

    #[test]
    fn few_is_uniform() {
        let mut chance = StdRng::from_seed([7; 32]);
        let draws = 120_000;
        let mut seen: HashMap<[Option<usize>; 3], f64> = HashMap::new();
        for _ in 0..draws {
            *seen.entry(sample_few(5, std::array::from_fn(|_| chance.next_u64()))).or_default() += 1.0;
        }
        let expected = f64::from(draws) / 60.0;
        let chi_square: f64 = seen.values().map(|count| (count - expected).powi(2) / expected).sum();
        assert_eq!(seen.len(), 60);
        assert!(chi_square < 98.32, "chi-square of 59 degrees at one in a thousand: {chi_square}");
    }

    #[test]
    fn few_reaches_the_first_and_the_last_position() {
        assert_eq!(sample_few(1_000_000, [0, 0, u64::MAX, u64::MAX]), [0, 1, 999_999, 2].map(Some));
        assert_eq!(sample_few(2, [u64::MAX; 3]), [Some(1), Some(0), None]);
    }

    proptest! {
        #[test]
        fn few_returns_distinct_positions_in_range(
            population in 0..12_usize, random in any::<[u64; 5]>(),
        ) {
            let mut positions: Vec<_> = sample_few(population, random).into_iter().flatten().collect();
            prop_assert!(positions.iter().all(|position| *position < population));
            positions.sort_unstable();
            positions.dedup();
            prop_assert_eq!(positions.len(), population.min(5));
        }
    }
}
