//! Finding any of very many secrets in very much text, whole or cut short, as it is or in another spelling.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::{collections::HashMap, fmt::Write as _};

/// So much of a secret gives it away: a head or a tail of this length is found.
const WINDOW: usize = 12;
/// Session tokens all begin so, which is no secret.
const TOKEN_PREFIX: &[u8] = b"cmp_";

type Window = [u8; WINDOW];

/// What is looked for.
pub(super) struct Needles {
    windows: HashMap<Window, usize>,
    /// Whether any window begins with these three bytes: most places in a text are passed over by a glance.
    begins: Vec<bool>,
}

impl Needles {
    /// Looks for these secrets.
    pub(super) fn new<'a>(secrets: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut needles = Self { windows: HashMap::new(), begins: vec![false; 1 << 24] };
        for (number, secret) in secrets.enumerate() {
            let secret = secret.strip_prefix(TOKEN_PREFIX).unwrap_or(secret);
            let hex = hex(secret);
            needles.add(number, secret);
            needles.add(number, STANDARD.encode(secret).trim_end_matches('=').as_bytes());
            needles.add(number, hex.as_bytes());
            needles.add(number, hex.to_uppercase().as_bytes());
        }
        needles
    }

    fn add(&mut self, number: usize, spelt: &[u8]) {
        let head: Window = *spelt.first_chunk().unwrap();
        let tail: Window = *spelt.last_chunk().unwrap();
        for window in [head, tail] {
            self.windows.insert(window, number);
            self.begins[place(&window)] = true;
        }
    }

    /// The number of the first secret in the text, and where it begins.
    pub(super) fn first_in(&self, text: &[u8]) -> Option<(usize, usize)> {
        let suspicious = text.windows(WINDOW).enumerate().filter(|(_, window)| self.begins[place(window)]);
        let mut found = suspicious.filter_map(|(at, window)| Some((*self.windows.get(window)?, at)));
        found.next()
    }
}

fn place(window: &[u8]) -> usize {
    usize::from(window[0]) << 16 | usize::from(window[1]) << 8 | usize::from(window[2])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn a_secret_is_found_whole_cut_short_and_in_other_spellings() {
    let secrets = ["cmp_0123456789abcdefghijklmnopqrstuvwxyz", "ZYXWVUTSRQPONMLKJIHGFEDCBA9876543210"];
    let needles = Needles::new(secrets.iter().map(|secret| secret.as_bytes()));
    let first_in = |text: &str| needles.first_in(format!("cmp_ some {text} words").as_bytes());
    assert_eq!(first_in(""), None);
    for (number, secret) in secrets.iter().enumerate() {
        let bare = secret.trim_start_matches("cmp_");
        let tail = &bare[bare.len() - WINDOW..];
        let spellings = [*secret, &bare[..WINDOW], tail, &STANDARD.encode(bare), &hex(bare.as_bytes())];
        for spelling in spellings {
            assert_eq!(
                first_in(spelling),
                Some((number, 10 + if spelling == *secret && number == 0 { 4 } else { 0 }))
            );
        }
        assert_eq!(first_in(&bare[..WINDOW - 1]), None);
    }
}
