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
    keys_are_drawn_from_the_same_source,
}

/// Chi-square with 255 degrees of freedom exceeds this once in a hundred thousand fair trials.
const CRITICAL: f64 = 361.0;

/// Whether each byte differs from zero in one of these draws: a byte is zero by chance in few of them.
fn fills_every_byte(draws: impl IntoIterator<Item: AsRef<[u8]>>, length: usize) -> bool {
    let mut ever = vec![0; length];
    for bytes in draws {
        ever.iter_mut().zip(bytes.as_ref()).for_each(|(ever, byte)| *ever |= byte);
    }
    ever.iter().all(|byte| *byte != 0)
}

fn drawn(entropy: &Port, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    entropy.fill(&mut bytes);
    bytes
}

async fn every_byte_is_filled(fresh: &Fresh<Port>) {
    for length in [0, 1, 7, 8, 9, 31, 32, 33, 1000] {
        let draws = (0..16).map(|_| drawn(&*fresh.one, length));
        assert!(fills_every_byte(draws, length), "{length} bytes");
    }
}

/// Neither through one handle, nor through another, nor concurrently.
async fn draws_never_repeat(fresh: &Fresh<Port>) {
    let in_turn = (0..1000).flat_map(|_| [&fresh.one, &fresh.other].map(|entropy| drawn(&**entropy, 16)));
    let at_once = fresh.concurrently(|_, entropy| async move { drawn(&*entropy, 16) }).await;
    let mut seen = HashSet::new();
    assert!(in_turn.chain(at_once).all(|bytes| seen.insert(bytes)));
}

async fn all_values_are_equally_likely(fresh: &Fresh<Port>) {
    let bytes = drawn(&*fresh.one, 65_536);
    let expected = 65_536.0 / 256.0;
    let count = |value: u8| bytes.iter().map(|byte| if *byte == value { 1.0 } else { 0.0 }).sum::<f64>();
    let chi_square: f64 = (0..=255).map(|value| (count(value) - expected).powi(2) / expected).sum();
    assert!(chi_square < CRITICAL, "chi-square {chi_square} is not below {CRITICAL}");
}

async fn keys_are_drawn_from_the_same_source(fresh: &Fresh<Port>) {
    let keys: Vec<[u8; 32]> = (0..100).map(|_| *fresh.one.draw()).collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    assert!(fills_every_byte(&keys, 32));
}
