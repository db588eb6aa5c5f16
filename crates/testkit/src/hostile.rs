//! Hostile input: well-formed samples, damaged in repeatable ways.
//!
//! By default tests use a few thousand inputs. `HOSTILE` sets the percentage of the full number.

use crate::entropy::SeededEntropy;

const VARIABLE: &str = "HOSTILE";
/// Maximum growth of an input, in bytes.
const MAX_GROWTH: usize = 64 * 1024;

/// What parsers often mishandle: numbers at their limits, brackets, escapes, dates, odd Unicode, separated by blanks.
const TRICKY_WORDS: &str = r#"
    0 -1 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 4294967296 1e309 -0.0 NaN
    null true " \ \u0000 \ud800 { } [ ] , : = %00 %2e%2e%2f ../ ä 🦊 1970-01-01T00:00:00Z ::ffff:127.0.0.1
    [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ {"a":{"a":{"a":{"a":{"a":
"#;

/// Line ends, blanks, control characters, and what is not UTF-8.
const TRICKY_BYTES: [&[u8]; 15] = [
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"\0",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\xe2\x80\x8d",
    b"e\xcc\x81",
    b"\xc2\x85",
];

/// Returns how many inputs a test takes: `usual`, or the percentage of `full` that the environment sets.
#[must_use]
pub fn count(usual: u64, full: u64) -> u64 {
    let percent = std::env::var(VARIABLE).ok().and_then(|text| text.parse::<u64>().ok());
    percent.map_or(usual, |percent| full * percent / 100)
}

/// Generates damaged inputs, the same ones for the same seed.
#[derive(Debug)]
pub struct Hostile {
    samples: Vec<Vec<u8>>,
    fragments: Vec<&'static [u8]>,
    chance: SeededEntropy,
    input: Vec<u8>,
}

impl Hostile {
    /// Creates a generator that damages these samples.
    #[must_use]
    pub fn new<S: AsRef<[u8]>>(samples: &[S], seed: u64) -> Self {
        let samples = samples.iter().map(|sample| sample.as_ref().to_vec()).collect();
        let words = TRICKY_WORDS.split_whitespace().map(str::as_bytes);
        let fragments = words.chain(TRICKY_BYTES).collect();
        Self { samples, fragments, chance: SeededEntropy::new(seed), input: Vec::new() }
    }

    /// Returns a number below `bound`.
    pub fn below(&self, bound: usize) -> usize {
        usize::try_from(self.chance.below(bound as u64)).unwrap_or_default()
    }

    /// Returns the next input. One in eight is an undamaged sample.
    pub fn bytes(&mut self) -> &[u8] {
        let mut input = std::mem::take(&mut self.input);
        input.clear();
        input.extend_from_slice(self.sample());
        if self.below(8) > 0 {
            for _ in 0..=self.below(4) {
                self.damage(&mut input);
            }
        }
        self.input = input;
        &self.input
    }

    /// Returns the next input as text, with replacement characters for invalid UTF-8.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    fn sample(&self) -> &[u8] {
        self.samples.get(self.below(self.samples.len().max(1))).map_or(&[], Vec::as_slice)
    }

    fn tricky_fragment(&self) -> &'static [u8] {
        self.fragments.get(self.below(self.fragments.len())).copied().unwrap_or_default()
    }

    fn damage(&self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let until = at + self.below((input.len() - at).min(32) + 1);
        match self.below(10) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = u8::try_from(self.below(256)).unwrap_or_default();
                }
            }
            2 | 3 => drop(input.splice(at..at, self.tricky_fragment().iter().copied())),
            4 => drop(input.splice(at..until, self.tricky_fragment().iter().copied())),
            5 => drop(input.drain(at..until)),
            6 => input.truncate(at),
            7 => {
                let other = self.sample();
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(other.get(from..).unwrap_or_default());
            }
            8 => {
                let part = input.get(at..until).unwrap_or_default().to_vec();
                input.splice(at..at, part);
            }
            // Rarely, a very long input; more often would only be slow.
            _ if self.below(200) == 0 => {
                let part = input.get(at..until).filter(|part| !part.is_empty()).unwrap_or(b"a").to_vec();
                let times = 1 + self.below(MAX_GROWTH / part.len());
                input.splice(at..at, part.repeat(times));
            }
            _ => input.extend_from_slice(self.tricky_fragment()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_yields_the_same_mostly_damaged_inputs() {
        let inputs = |seed| {
            let mut hostile = Hostile::new(&["{\"id\": \"7\"}", "[1, 2]"], seed);
            (0..500).map(|_| hostile.bytes().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let whole = inputs(1).iter().filter(|input| *input == b"[1, 2]").count();
        assert!((10..100).contains(&whole), "{whole}");
    }
}
