//! Plants secrets, and records everything that the program outputs, for searching.

use crate::served::Answer;
use async_trait::async_trait;
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use companion_domain::{
    model::{PlatformGuilds, PlatformTokens, Secret, User, UserId},
    port::{
        ClientMark, CodeExchange, Entropy as _, IdentityError, IdentityProvider, Reputation, UserWithGuilds,
    },
};
use companion_testkit::entropy::SeededEntropy;
use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Default)]
struct Content {
    planted: HashMap<String, &'static str>,
    entropy: SeededEntropy,
    /// Responses with all headers, without the secret that a response is meant to contain.
    answers: String,
    /// The `Debug` and `Display` output of errors and values.
    words: String,
    texts: usize,
}

/// All planted secrets, and all recorded output. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Garden(Arc<Mutex<Content>>);

impl Garden {
    fn with<T>(&self, work: impl FnOnce(&mut Content) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Creates a secret of 48 characters that are valid in any header and unlike anything else.
    pub(super) fn canary(&self, kind: &'static str) -> String {
        let canary = URL_SAFE_NO_PAD.encode(self.bytes::<36>());
        self.plant(kind, &canary);
        canary
    }

    /// Returns unique bytes.
    pub(super) fn bytes<const LENGTH: usize>(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        self.with(|content| content.entropy.fill(&mut bytes));
        bytes
    }

    /// Registers a secret that must not appear from now on.
    pub(super) fn plant(&self, kind: &'static str, secret: &str) {
        self.with(|content| content.planted.insert(secret.to_owned(), kind));
    }

    /// Records a response, and registers the token it contains.
    pub(super) fn heard(&self, answer: &Answer) {
        let mut text = format!("{}{}\n", answer.head, answer.body);
        if answer.status == 200 && answer.body.contains("\"token\":") {
            let token = answer.token();
            text = text.replace(&token, "");
            self.plant("session token", &token);
        }
        self.with(|content| {
            content.answers += &text;
            content.texts += 1;
        });
    }

    /// Records the output of a value or error.
    pub(super) fn said(&self, words: &str) {
        self.with(|content| {
            content.words += words;
            content.words.push('\n');
        });
    }

    /// Returns the number of secrets of each kind.
    pub(super) fn planted(&self) -> BTreeMap<&'static str, usize> {
        self.with(|content| {
            content.planted.values().fold(BTreeMap::new(), |mut kinds, kind| {
                *kinds.entry(*kind).or_default() += 1;
                kinds
            })
        })
    }

    /// Returns the number of recorded responses.
    pub(super) fn answers(&self) -> usize {
        self.with(|content| content.texts)
    }

    /// Searches the recorded output and these texts. Returns how much was searched; panics if a secret is found.
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

/// An identity provider that wraps the real one, registers tokens, and records the output of values and errors.
pub(super) struct Recorder {
    pub(super) real: Arc<dyn IdentityProvider>,
    pub(super) garden: Garden,
}

impl Recorder {
    fn tokens(&self, result: Result<PlatformTokens, IdentityError>) -> Result<PlatformTokens, IdentityError> {
        if let Ok(tokens) = &result {
            self.garden.plant("access token", tokens.access.expose());
            if let Some(refresh) = &tokens.refresh {
                self.garden.plant("refresh token", refresh.expose());
            }
            self.garden.said(&format!("{tokens:?}"));
        }
        self.noted(result)
    }

    /// Records everything that an error prints.
    fn noted<T>(&self, result: Result<T, IdentityError>) -> Result<T, IdentityError> {
        let mut cause: Option<&dyn Error> = result.as_ref().err().map(|error| error as _);
        while let Some(error) = cause {
            self.garden.said(&format!("{error} {error:?} {error:#?}"));
            cause = error.source();
        }
        result
    }
}

#[async_trait]
impl IdentityProvider for Recorder {
    fn ready_to_exchange(&self, standing: Reputation) -> Result<(), IdentityError> {
        self.real.ready_to_exchange(standing)
    }

    async fn exchange(&self, exchange: &CodeExchange) -> Result<PlatformTokens, IdentityError> {
        self.garden.said(&format!("{exchange:?} {:?}", exchange.code.fingerprint()));
        self.tokens(self.real.exchange(exchange).await)
    }

    async fn user(&self, client: ClientMark, access: &Secret) -> Result<User, IdentityError> {
        self.garden.said(&format!("{access:?}"));
        self.noted(self.real.user(client, access).await)
    }

    async fn guilds(&self, user: UserId, access: &Secret) -> Result<PlatformGuilds, IdentityError> {
        self.noted(self.real.guilds(user, access).await)
    }

    async fn user_with_guilds(
        &self,
        client: ClientMark,
        access: &Secret,
    ) -> Result<UserWithGuilds, IdentityError> {
        self.garden.said(&format!("{access:?}"));
        let mut together = self.noted(self.real.user_with_guilds(client, access).await)?;
        together.guilds = self.noted(together.guilds);
        Ok(together)
    }

    async fn refresh(&self, user: UserId, refresh: &Secret) -> Result<PlatformTokens, IdentityError> {
        self.tokens(self.real.refresh(user, refresh).await)
    }

    async fn revoke(&self, token: &Secret) -> Result<(), IdentityError> {
        self.noted(self.real.revoke(token).await)
    }
}

/// Length of a fragment that counts as a leak: a prefix or suffix of this length is found.
const WINDOW: usize = 12;
/// The common prefix of session tokens, which is not secret.
const TOKEN_PREFIX: &[u8] = b"cmp_";

type Window = [u8; WINDOW];

/// Finds any of many secrets in large texts, complete or truncated, plain or encoded.
struct Needles {
    windows: HashMap<Window, usize>,
    /// Whether any window begins with these three bytes. Filters out most positions quickly.
    begins: Vec<bool>,
}

impl Needles {
    /// Creates a search for these secrets.
    fn new<'a>(secrets: impl Iterator<Item = &'a [u8]>) -> Self {
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

    /// Returns the number of the first secret in the text, and its position.
    fn first_in(&self, text: &[u8]) -> Option<(usize, usize)> {
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
fn finds_secrets_complete_truncated_and_encoded() {
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
