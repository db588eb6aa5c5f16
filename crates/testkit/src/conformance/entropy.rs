//! The contract of [`Entropy`], as far as it is observable. Unpredictability cannot be tested; variation can.

use super::Fresh;
use companion_domain::port::Entropy;
use std::collections::HashSet;

suite! {
    /// Generates one test per behaviour of `Entropy`.
    entropy_conformance($): entropy, dyn Entropy;
    every_byte_is_filled,
    draws_never_repeat,
    all_values_are_equally_likely,
    concurrent_callers_draw_different_bytes,
    handles_draw_different_bytes,
    keys_are_drawn_from_the_same_source,
}

/// Chi-square with 255 degrees of freedom exceeds this once in a hundred thousand fair trials.
const CRITICAL: f64 = 361.0;

async fn every_byte_is_filled(fresh: &Fresh<Port>) {
    fresh.one.fill(&mut []);
    for length in [1, 7, 8, 9, 31, 32, 33, 1000] {
        // A byte that is zero by chance is not zero in all of these.
        let mut ever = vec![0; length];
        for _ in 0..16 {
            let mut bytes = vec![0; length];
            fresh.one.fill(&mut bytes);
            ever.iter_mut().zip(bytes).for_each(|(ever, byte)| *ever |= byte);
        }
        assert!(ever.iter().all(|byte| *byte != 0), "{length} bytes");
    }
}

async fn draws_never_repeat(fresh: &Fresh<Port>) {
    let mut seen = HashSet::new();
    for _ in 0..2000 {
        let mut bytes = [0; 16];
        fresh.one.fill(&mut bytes);
        assert!(seen.insert(bytes));
    }
}

async fn all_values_are_equally_likely(fresh: &Fresh<Port>) {
    let mut bytes = vec![0; 65_536];
    fresh.one.fill(&mut bytes);
    let expected = 65_536.0 / 256.0;
    let count = |value: u8| bytes.iter().map(|byte| if *byte == value { 1.0 } else { 0.0 }).sum::<f64>();
    let chi_square: f64 = (0..=255).map(|value| (count(value) - expected).powi(2) / expected).sum();
    assert!(chi_square < CRITICAL, "chi-square {chi_square} is not below {CRITICAL}");
}

async fn concurrent_callers_draw_different_bytes(fresh: &Fresh<Port>) {
    let drawn = fresh
        .concurrently(|_, entropy| async move {
            let mut bytes = [0; 16];
            entropy.fill(&mut bytes);
            bytes
        })
        .await;
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
}

async fn handles_draw_different_bytes(fresh: &Fresh<Port>) {
    let mut seen = HashSet::new();
    for _ in 0..1000 {
        for entropy in [&fresh.one, &fresh.other] {
            let mut bytes = [0; 16];
            entropy.fill(&mut bytes);
            assert!(seen.insert(bytes));
        }
    }
}

async fn keys_are_drawn_from_the_same_source(fresh: &Fresh<Port>) {
    let drawn: Vec<_> = (0..100).map(|_| fresh.one.draw()).collect();
    assert_eq!(drawn.iter().map(|drawn| **drawn).collect::<HashSet<_>>().len(), drawn.len());
    let ever = drawn.iter().fold([0; 32], |mut ever, drawn| {
        ever.iter_mut().zip(drawn.iter()).for_each(|(ever, byte)| *ever |= byte);
        ever
    });
    assert!(ever.iter().all(|byte| *byte != 0), "each of the 32 bytes");
}
