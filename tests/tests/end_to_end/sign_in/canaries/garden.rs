//! Where secrets are planted, and where everything that was said is kept, to be searched.

use super::needles::Needles;
use crate::served::Answer;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Default)]
struct Content {
    planted: HashMap<String, &'static str>,
    made: u64,
    /// Answers with all their headers, without the one secret that an answer is there to hand out.
    answers: String,
    /// What errors and values say of themselves.
    words: String,
    texts: usize,
}

/// All canaries, and all that was said. Clones are the same garden.
#[derive(Clone, Default)]
pub(super) struct Garden(Arc<Mutex<Content>>);

impl Garden {
    fn with<T>(&self, work: impl FnOnce(&mut Content) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a new secret: 48 characters that any header takes, and that look like nothing else.
    pub(super) fn canary(&self, kind: &'static str) -> String {
        let canary = URL_SAFE_NO_PAD.encode(self.bytes::<36>());
        self.plant(kind, &canary);
        canary
    }

    /// Bytes that come but once.
    pub(super) fn bytes<const LENGTH: usize>(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        self.with(|content| {
            for chunk in bytes.chunks_mut(8) {
                content.made += 1;
                let mixed = mix(content.made).to_le_bytes();
                chunk.copy_from_slice(&mixed[..chunk.len()]);
            }
        });
        bytes
    }

    /// From now on this must not be seen.
    pub(super) fn plant(&self, kind: &'static str, secret: &str) {
        self.with(|content| content.planted.insert(secret.to_owned(), kind));
    }

    /// Keeps an answer. What it hands out is a secret from now on.
    pub(super) fn heard(&self, answer: &Answer) {
        let mut text = format!("{}{}\n", answer.head, answer.body);
        if answer.status == 200 && answer.body.contains("\"token\":") {
            let token = answer.token();
            text = text.replace(&token, "");
            self.plant("session token", &token);
        }
        self.with(|content| content.answers += &text);
        self.with(|content| content.texts += 1);
    }

    /// Keeps what something says of itself.
    pub(super) fn said(&self, words: &str) {
        self.with(|content| {
            content.words += words;
            content.words.push('\n');
        });
    }

    /// How many of each kind are planted.
    pub(super) fn planted(&self) -> BTreeMap<&'static str, usize> {
        self.with(|content| {
            content.planted.values().fold(BTreeMap::new(), |mut kinds, kind| {
                *kinds.entry(*kind).or_default() += 1;
                kinds
            })
        })
    }

    /// How many answers were kept.
    pub(super) fn answers(&self) -> usize {
        self.with(|content| content.texts)
    }

    /// Searches the answers, the words, and these texts. Says how much that was; panics where a canary is found.
    pub(super) fn search(&self, texts: &[(String, Vec<u8>)]) -> BTreeMap<String, usize> {
        self.with(|content| {
            let secrets: Vec<_> = content.planted.keys().collect();
            let needles = Needles::new(secrets.iter().map(|secret| secret.as_bytes()));
            let own = [("answers", &content.answers), ("words", &content.words)];
            let own = own.map(|(name, text)| (name.to_owned(), text.clone().into_bytes()));
            let mut searched = BTreeMap::new();
            for (name, text) in own.iter().chain(texts) {
                if let Some((number, at)) = needles.first_in(text) {
                    let near =
                        String::from_utf8_lossy(&text[at.saturating_sub(300)..text.len().min(at + 100)]);
                    panic!("in the {name}, a {}: …{near}…", content.planted[secrets[number]]);
                }
                searched.insert(name.clone(), text.len());
            }
            searched
        })
    }
}

/// A number that looks like any other, and is never the same for two.
fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
