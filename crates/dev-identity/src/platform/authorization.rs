//! Codes, and the authorizations they were exchanged for.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

/// Maximum token pairs per user. The oldest are evicted, so that a long test stays small.
const PAIRS_PER_USER: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AuthorizationId(u64);

#[derive(Debug, Clone)]
pub(super) struct Authorization {
    pub(super) user: u64,
    pub(super) scope: String,
    client: String,
    access: String,
    refresh: String,
    expires_at: Duration,
}

/// The response to an exchange or a refresh.
#[derive(Serialize)]
pub(crate) struct TokenAnswer {
    token_type: &'static str,
    access_token: String,
    expires_in: u64,
    refresh_token: String,
    scope: String,
}

impl Authorization {
    pub(super) fn new(user: u64, client: &str, scope: &str, now: Duration, lifetime: Duration) -> Self {
        Self {
            user,
            scope: scope.to_owned(),
            client: client.to_owned(),
            access: super::random_text(),
            refresh: super::random_text(),
            expires_at: now.saturating_add(lifetime),
        }
    }

    pub(super) fn answer(&self, lifetime: Duration) -> TokenAnswer {
        TokenAnswer {
            token_type: "Bearer",
            access_token: self.access.clone(),
            expires_in: lifetime.as_secs(),
            refresh_token: self.refresh.clone(),
            scope: self.scope.clone(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Authorizations {
    next: u64,
    authorizations: HashMap<AuthorizationId, Authorization>,
    /// Both access and refresh tokens.
    by_token: HashMap<String, AuthorizationId>,
    by_user: HashMap<u64, VecDeque<AuthorizationId>>,
}

impl Authorizations {
    pub(super) fn open(&mut self, authorization: Authorization) -> AuthorizationId {
        let id = AuthorizationId(self.next);
        self.next += 1;
        let of_user = self.by_user.entry(authorization.user).or_default();
        of_user.push_back(id);
        let oldest = if of_user.len() > PAIRS_PER_USER { of_user.front().copied() } else { None };
        self.insert(id, authorization);
        if let Some(oldest) = oldest {
            self.end(oldest);
        }
        id
    }

    pub(super) fn renew(
        &mut self,
        refresh: &str,
        client: &str,
        now: Duration,
        lifetime: Duration,
    ) -> Option<&Authorization> {
        let id = *self.by_token.get(refresh)?;
        let old = self.authorizations.get(&id)?;
        if old.refresh != refresh || old.client != client {
            return None;
        }
        let renewed = Authorization::new(old.user, client, &old.scope, now, lifetime);
        let (access, refresh) = (old.access.clone(), old.refresh.clone());
        self.by_token.remove(&access);
        self.by_token.remove(&refresh);
        self.insert(id, renewed);
        self.authorizations.get(&id)
    }

    /// Returns the authorization of a valid access token.
    pub(super) fn bearer(&self, access: &str, now: Duration) -> Option<&Authorization> {
        let authorization = self.authorizations.get(self.by_token.get(access)?)?;
        (authorization.access == access && now < authorization.expires_at).then_some(authorization)
    }

    /// Returns the user of an access or refresh token, if this client received it.
    pub(super) fn owner(&self, token: &str, client: &str) -> Option<u64> {
        let authorization = self.authorizations.get(self.by_token.get(token)?)?;
        (authorization.client == client).then_some(authorization.user)
    }

    /// Returns the user of an access or refresh token, expired or not.
    pub(crate) fn user_of(&self, token: &str) -> Option<u64> {
        Some(self.authorizations.get(self.by_token.get(token)?)?.user)
    }

    pub(crate) fn any_of(&self, user: u64) -> bool {
        self.by_user.get(&user).is_some_and(|authorizations| !authorizations.is_empty())
    }

    pub(super) fn end(&mut self, id: AuthorizationId) {
        if let Some(authorization) = self.authorizations.remove(&id) {
            self.by_token.remove(&authorization.access);
            self.by_token.remove(&authorization.refresh);
            if let Some(of_user) = self.by_user.get_mut(&authorization.user) {
                of_user.retain(|other| *other != id);
            }
        }
    }

    /// Ends the authorizations of a user, for one client or for all.
    pub(crate) fn end_all(&mut self, user: u64, client: Option<&str>) {
        let of_user = self.by_user.get(&user).cloned().unwrap_or_default();
        for id in of_user {
            let concerned =
                |authorization: &Authorization| client.is_none_or(|client| authorization.client == client);
            if self.authorizations.get(&id).is_some_and(concerned) {
                self.end(id);
            }
        }
    }

    pub(crate) fn expire_access(&mut self, user: Option<u64>, now: Duration) {
        for authorization in self.authorizations.values_mut() {
            if user.is_none_or(|user| authorization.user == user) {
                authorization.expires_at = now;
            }
        }
    }

    fn insert(&mut self, id: AuthorizationId, authorization: Authorization) {
        self.by_token.insert(authorization.access.clone(), id);
        self.by_token.insert(authorization.refresh.clone(), id);
        self.authorizations.insert(id, authorization);
    }
}

/// How long an expired code is remembered, so that its reuse is detected.
const REUSE_DETECTION: Duration = Duration::from_secs(600);
/// The scopes of a code unless others are given.
pub(crate) const ALL_SCOPES: &str = "identify guilds";

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

/// The verifier that an exchange needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pkce {
    /// One that hashes to this challenge.
    S256(String),
    /// None: the sign-in began without a challenge.
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

/// The user of a code, and its terms.
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

/// The state of an issued code.
pub(super) enum Known {
    Fresh(Code),
    /// Already exchanged, for this authorization.
    Used(Option<AuthorizationId>),
}

#[derive(Default)]
pub(super) struct Codes {
    known: HashMap<String, Known>,
    /// Expiry of each code. All have the same lifetime, so the queue is sorted.
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
        let at = code.expires_at.saturating_add(REUSE_DETECTION);
        self.forgotten_at.push_back((at, text.clone()));
        self.known.insert(text.clone(), Known::Fresh(code));
        text
    }

    /// Spends a code, and returns its state before. `None` if it is unknown.
    pub(super) fn take(&mut self, text: &str) -> Option<Known> {
        self.known.get_mut(text).map(|known| std::mem::replace(known, Known::Used(None)))
    }

    pub(super) fn used_for(&mut self, text: &str, grant: AuthorizationId) {
        if let Some(known) = self.known.get_mut(text) {
            *known = Known::Used(Some(grant));
        }
    }
}
