//! Codes, and the authorizations they were exchanged for.

use super::Parameters;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{collections::HashMap, time::Duration};

/// Maximum token pairs per user. The oldest are evicted, so that a long test stays small.
const PAIRS_PER_USER: usize = 100;

/// What a user has granted to a client.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) user: u64,
    pub(super) client: String,
    pub(super) scope: String,
    /// The code that was exchanged for it.
    pub(super) code: String,
}

/// A grant and its current tokens.
#[derive(Debug)]
pub(crate) struct Authorization {
    pub(crate) grant: Grant,
    pub(super) access: String,
    pub(super) refresh: String,
    pub(super) expires_at: Duration,
}

/// The authorizations of each user. A token begins with the id of its user.
#[derive(Debug, Default)]
pub(crate) struct Authorizations(HashMap<u64, Vec<Authorization>>);

impl Authorizations {
    pub(super) fn open(&mut self, new: Authorization) {
        let of_user = self.0.entry(new.grant.user).or_default();
        if of_user.len() == PAIRS_PER_USER {
            of_user.remove(0);
        }
        of_user.push(new);
    }

    /// Returns the authorization of an access or refresh token, expired or not.
    pub(crate) fn find(&self, token: &str) -> Option<&Authorization> {
        let of_user = self.0.get(&token.split_once('.')?.0.parse().ok()?)?;
        of_user.iter().find(|known| known.access == token || known.refresh == token)
    }

    pub(crate) fn any_of(&self, user: u64) -> bool {
        self.0.get(&user).is_some_and(|of_user| !of_user.is_empty())
    }

    /// Ends the authorizations of a user to which this applies.
    pub(crate) fn end(&mut self, user: u64, applies: impl Fn(&Authorization) -> bool) {
        self.0.entry(user).or_default().retain(|known| !applies(known));
    }

    pub(crate) fn expire_access(&mut self, user: Option<u64>, now: Duration) {
        for known in self.0.values_mut().flatten() {
            if user.is_none_or(|user| known.grant.user == user) {
                known.expires_at = now;
            }
        }
    }
}

/// Conditions for exchanging a code issued for a test. Omitted ones are not checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeTerms {
    /// The required redirect URI.
    pub redirect_uri: Option<String>,
    /// The S256 challenge that the verifier must match.
    pub code_challenge: Option<String>,
    /// The only client that may use it.
    pub client_id: Option<String>,
    /// Its scopes; all if omitted.
    pub scope: Option<String>,
}

/// An issued code.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) user: u64,
    pub(super) terms: CodeTerms,
    /// Whether it was issued for a test, and not by the sign-in page.
    pub(super) is_minted: bool,
    pub(super) expires_at: Duration,
    pub(super) is_spent: bool,
}

impl Code {
    /// Whether a request of this client meets the terms.
    pub(super) fn accepts(&self, client: &str, parameters: &Parameters) -> bool {
        let CodeTerms { redirect_uri, code_challenge, client_id, .. } = &self.terms;
        let is_met = |expected: &Option<String>, found: Option<&str>| {
            expected.is_none() || expected.as_deref() == found
        };
        let verifier = parameters.get("code_verifier");
        let is_verified = match code_challenge {
            Some(challenge) => verifier
                .is_some_and(|verifier| URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == *challenge),
            None => self.is_minted || verifier.is_none(),
        };
        is_verified && is_met(client_id, Some(client)) && is_met(redirect_uri, parameters.get("redirect_uri"))
    }
}
