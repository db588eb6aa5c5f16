//! Choosing at random, fairly.

use rand::{SeedableRng as _, rngs::StdRng, seq::index::sample};

/// What a pick draws from. It comes from whoever has chance, and can be drawn from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The seed of these random bytes.
    #[must_use]
    pub const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Begins to draw.
    #[must_use]
    pub fn draw(self) -> Draw {
        Draw(StdRng::from_seed(self.0))
    }
}

/// Draws, as its seed has it.
pub struct Draw(StdRng);

impl Draw {
    /// `count` distinct positions below `population` (all of them where there are fewer), each choice and each order
    /// equally likely. The cost depends on `count` alone.
    pub fn positions(&mut self, population: usize, count: usize) -> Vec<usize> {
        sample(&mut self.0, population, count.min(population)).into_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn every_ordered_choice_of_two_out_of_four_is_equally_likely() {
        let mut draw = Seed::new([42; 32]).draw();
        let draws = 120_000;
        let mut seen: HashMap<Vec<usize>, f64> = HashMap::new();
        for _ in 0..draws {
            *seen.entry(draw.positions(4, 2)).or_default() += 1.0;
        }
        let expected = f64::from(draws) / 12.0;
        let chi_square: f64 = seen.values().map(|count| (count - expected).powi(2) / expected).sum();
        assert_eq!(seen.len(), 12);
        assert!(chi_square < 31.26, "chi-square of 11 degrees at one in a thousand: {chi_square}");
    }

    #[test]
    fn a_seed_draws_the_same_again_and_another_differs() {
        let positions = |seed| Seed::new([seed; 32]).draw().positions(1_000_000, 5);
        assert_eq!(positions(1), positions(1));
        assert_ne!(positions(1), positions(2));
    }

    proptest! {
        #[test]
        fn positions_are_distinct_in_range_and_as_many_as_there_can_be(
            population in 0..40_usize, count in 0..10_usize, seed in any::<[u8; 32]>(),
        ) {
            let mut positions = Seed::new(seed).draw().positions(population, count);
            prop_assert_eq!(positions.len(), population.min(count));
            prop_assert!(positions.iter().all(|position| *position < population));
            positions.sort_unstable();
            positions.dedup();
            prop_assert_eq!(positions.len(), population.min(count));
        }
    }
}
