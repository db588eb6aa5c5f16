//! Codes: good for one exchange, for a short while, on the terms under which they were asked for.

use super::authorization::AuthorizationId;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// How long a code is remembered after it has expired, so that using it again is noticed.
const MEMORY: Duration = Duration::from_secs(600);
/// What a code is good for where nothing else is said.
pub(crate) const ALL_SCOPES: &str = "identify guilds";

/// What a code that is minted for a test can be exchanged with. What is left out is not checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeTerms {
    /// The redirect URI that must come with the code.
    pub redirect_uri: Option<String>,
    /// The S256 challenge that the verifier must meet.
    pub code_challenge: Option<String>,
    /// The only client that may use it.
    pub client_id: Option<String>,
    /// What it is good for; everything where nothing is said.
    pub scope: Option<String>,
}

/// Whether a verifier must come with the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pkce {
    /// One that hashes to this.
    S256(String),
    /// None: the sign-in was begun without a challenge.
    Absent,
    /// Any or none.
    Unchecked,
}

impl Pkce {
    pub(super) fn accepts(&self, verifier: Option<&str>) -> bool {
        match self {
            Self::S256(challenge) => verifier
                .is_some_and(|verifier| URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == *challenge),
            Self::Absent => verifier.is_none(),
            Self::Unchecked => true,
        }
    }
}

/// Who a code is for, and under which terms.
#[derive(Debug, Clone)]
pub(crate) struct CodeOrigin {
    pub(crate) user: u64,
    pub(crate) client: Option<String>,
    pub(crate) redirect_uri: Option<String>,
    pub(crate) pkce: Pkce,
    pub(crate) scope: String,
}

impl CodeOrigin {
    pub(crate) fn minted(user: u64, terms: CodeTerms) -> Self {
        Self {
            user,
            client: terms.client_id,
            redirect_uri: terms.redirect_uri,
            pkce: terms.code_challenge.map_or(Pkce::Unchecked, Pkce::S256),
            scope: terms.scope.unwrap_or_else(|| ALL_SCOPES.to_owned()),
        }
    }

    pub(super) fn accepts_redirect(&self, redirect_uri: Option<&str>) -> bool {
        self.redirect_uri.is_none() || self.redirect_uri.as_deref() == redirect_uri
    }
}

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) origin: CodeOrigin,
    pub(super) expires_at: Duration,
}

/// What is known of a code that someone wants to exchange.
pub(super) enum Redeemed {
    Fresh(Code),
    /// It was taken before; these are the tokens it was exchanged for.
    Used(Option<AuthorizationId>),
    Unknown,
}

enum Known {
    Fresh(Code),
    Used(Option<AuthorizationId>),
}

#[derive(Default)]
pub(super) struct Codes {
    known: HashMap<String, Known>,
    /// When each can be forgotten; all live equally long, so the first to come is the first to go.
    forgotten_at: VecDeque<(Duration, String)>,
}

impl Codes {
    pub(super) fn issue(&mut self, code: Code, now: Duration) -> String {
        while self.forgotten_at.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, old)) = self.forgotten_at.pop_front() {
                self.known.remove(&old);
            }
        }
        let text = super::random_text();
        let at = code.expires_at.saturating_add(MEMORY);
        self.forgotten_at.push_back((at, text.clone()));
        self.known.insert(text.clone(), Known::Fresh(code));
        text
    }

    pub(super) fn take(&mut self, text: &str) -> Redeemed {
        let Some(known) = self.known.get_mut(text) else {
            return Redeemed::Unknown;
        };
        match std::mem::replace(known, Known::Used(None)) {
            Known::Fresh(code) => Redeemed::Fresh(code),
            Known::Used(grant) => Redeemed::Used(grant),
        }
    }

    pub(super) fn used_for(&mut self, text: &str, grant: AuthorizationId) {
        if let Some(known) = self.known.get_mut(text) {
            *known = Known::Used(Some(grant));
        }
    }
}
