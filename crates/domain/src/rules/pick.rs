//! Choosing at random, fairly.

use crate::port::Entropy;

/// A number below `bound`, each equally likely. A bound of zero gives zero.
pub fn below(bound: u64, entropy: &dyn Entropy) -> u64 {
    let mut bytes = [0; 8];
    loop {
        entropy.fill(&mut bytes);
        // The high half of the product is the number; the low half tells which draws would favour some numbers
        // over others, and those are drawn again.
        let product = u128::from(u64::from_le_bytes(bytes)) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg().checked_rem(bound).unwrap_or(0) {
            return (product >> 64) as u64;
        }
    }
}

/// `count` distinct positions below `population` (all of them where there are fewer), each choice and each order
/// equally likely. The cost depends on `count` alone.
pub fn distinct_positions(population: u64, count: u64, entropy: &dyn Entropy) -> Vec<u64> {
    // A shuffle that stops after `count` steps, and remembers only the positions that it moved.
    let mut moved: Vec<(u64, u64)> = Vec::new();
    let at = |moved: &[(u64, u64)], position| {
        moved.iter().rev().find(|(from, _)| *from == position).map_or(position, |(_, value)| *value)
    };
    (0..population.min(count))
        .map(|step| {
            let drawn = step + below(population - step, entropy);
            let (chosen, displaced) = (at(&moved, drawn), at(&moved, step));
            moved.push((drawn, displaced));
            chosen
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{cell::Cell, collections::HashMap, sync::Mutex};

    /// SplitMix64: a good generator in four lines, seeded, so that a failure repeats itself.
    struct Seeded(Mutex<Cell<u64>>);

    impl Seeded {
        fn new(seed: u64) -> Self {
            Self(Mutex::new(Cell::new(seed)))
        }
    }

    impl Entropy for Seeded {
        fn fill(&self, bytes: &mut [u8]) {
            let state = self.0.lock().unwrap();
            for chunk in bytes.chunks_mut(8) {
                state.set(state.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
                let mut z = state.get();
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
            }
        }
    }

    /// Gives out prepared draws.
    struct Scripted(Mutex<Vec<u64>>);

    impl Entropy for Scripted {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.0.lock().unwrap().remove(0).to_le_bytes());
        }
    }

    #[test]
    fn a_draw_that_would_favour_low_numbers_is_drawn_again() {
        // 2^64 leaves a remainder of 1 when divided by 3, so exactly one draw (zero) is one too many.
        let script = Scripted(Mutex::new(vec![0, u64::MAX]));
        assert_eq!(below(3, &script), 2);
        assert!(script.0.lock().unwrap().is_empty());
        assert_eq!(below(3, &Scripted(Mutex::new(vec![1]))), 0);
        assert_eq!(below(1 << 63, &Scripted(Mutex::new(vec![0]))), 0, "a power of two needs no second draw");
        assert_eq!(below(0, &Seeded::new(1)), 0);
    }

    #[test]
    fn every_ordered_choice_of_two_out_of_four_is_equally_likely() {
        let entropy = Seeded::new(42);
        let draws = 120_000;
        let mut seen: HashMap<Vec<u64>, f64> = HashMap::new();
        for _ in 0..draws {
            *seen.entry(distinct_positions(4, 2, &entropy)).or_default() += 1.0;
        }
        let expected = f64::from(draws) / 12.0;
        let chi_square: f64 = seen.values().map(|count| (count - expected).powi(2) / expected).sum();
        assert_eq!(seen.len(), 12);
        assert!(chi_square < 31.26, "chi-square of 11 degrees at one in a thousand: {chi_square}");
    }

    proptest! {
        #[test]
        fn positions_are_distinct_in_range_and_as_many_as_there_can_be(
            population in 0..40_u64, count in 0..10_u64, seed in any::<u64>(),
        ) {
            let mut positions = distinct_positions(population, count, &Seeded::new(seed));
            prop_assert_eq!(positions.len() as u64, population.min(count));
            prop_assert!(positions.iter().all(|position| *position < population));
            positions.sort_unstable();
            positions.dedup();
            prop_assert_eq!(positions.len() as u64, population.min(count));
        }

        #[test]
        fn a_number_below_a_bound_is_below_it(bound in 1..u64::MAX, seed in any::<u64>()) {
            prop_assert!(below(bound, &Seeded::new(seed)) < bound);
        }
    }
}
