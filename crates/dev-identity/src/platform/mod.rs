//! The platform's data: applications, users, codes and authorizations.

mod account;
mod authorization;

use self::authorization::{Authorization, Authorizations, Code, Codes, Known};
pub use self::{
    account::{Account, AccountGuild},
    authorization::CodeTerms,
};
pub(crate) use self::{
    account::{Credentials, Parameters},
    authorization::{CodeOrigin, Pkce, TokenAnswer},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

pub(crate) struct Platform {
    clients: BTreeMap<String, Client>,
    accounts: BTreeMap<u64, Account>,
    codes: Codes,
    pub(crate) grants: Authorizations,
    code_lifetime: Duration,
    access_lifetime: Duration,
}

impl Platform {
    /// Creates an empty platform with these lifetimes.
    pub(crate) fn new(code_lifetime: Duration, access_lifetime: Duration) -> Self {
        Self {
            clients: BTreeMap::new(),
            accounts: BTreeMap::new(),
            codes: Codes::default(),
            grants: Authorizations::default(),
            code_lifetime,
            access_lifetime,
        }
    }

    pub(crate) fn put_client(&mut self, client: Client) {
        self.clients.insert(client.id.clone(), client);
    }

    pub(crate) fn client(&self, id: &str) -> Option<&Client> {
        self.clients.get(id)
    }

    pub(crate) fn put_account(&mut self, account: Account) {
        self.accounts.insert(account.id, account);
    }

    /// Replaces the guilds of a user. Returns false if the user is unknown.
    pub(crate) fn set_guilds(&mut self, user: u64, guilds: Vec<AccountGuild>) -> bool {
        self.accounts.get_mut(&user).map(|account| account.guilds = guilds).is_some()
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// Returns the account with this name or id.
    pub(crate) fn find_account(&self, hint: &str) -> Option<&Account> {
        let by_id = hint.parse().ok().and_then(|id: u64| self.accounts.get(&id));
        by_id.or_else(|| self.accounts().find(|account| account.username == hint))
    }

    pub(crate) fn issue_code(&mut self, origin: CodeOrigin, now: Duration) -> String {
        let expires_at = now.saturating_add(self.code_lifetime);
        self.codes.issue(Code { origin, expires_at }, now)
    }

    /// Returns the client if its secret is right.
    pub(crate) fn authenticate(&self, credentials: &Credentials) -> Result<&Client, OauthError> {
        let client = self.clients.get(&credentials.id);
        let known = client.filter(|client| client.secret == credentials.secret);
        known.ok_or(OauthError::InvalidClient)
    }

    /// Exchanges a code for tokens. The code is spent in any case.
    pub(crate) fn exchange(
        &mut self,
        client: &str,
        parameters: &Parameters,
        now: Duration,
    ) -> Result<TokenAnswer, OauthError> {
        let text = parameters.required("code")?;
        let code = match self.codes.take(text) {
            Some(Known::Fresh(code)) => code,
            // A reused code may be stolen, so its tokens are revoked (RFC 6749, 4.1.2).
            Some(Known::Used(grant)) => {
                if let Some(grant) = grant {
                    self.grants.end(grant);
                }
                return Err(OauthError::InvalidGrant);
            }
            None => return Err(OauthError::InvalidGrant),
        };
        let origin = &code.origin;
        let good = now < code.expires_at
            && origin.client.as_deref().is_none_or(|expected| expected == client)
            && origin.accepts_redirect(parameters.get("redirect_uri"))
            && origin.pkce.accepts(parameters.get("code_verifier"))
            && self.accounts.contains_key(&origin.user);
        if !good {
            return Err(OauthError::InvalidGrant);
        }
        let grant = Authorization::new(origin.user, client, &origin.scope, now, self.access_lifetime);
        let answer = grant.answer(self.access_lifetime);
        let id = self.grants.open(grant);
        self.codes.used_for(text, id);
        Ok(answer)
    }

    /// Exchanges a refresh token for new tokens. The old ones become invalid.
    pub(crate) fn renew(
        &mut self,
        client: &str,
        parameters: &Parameters,
        now: Duration,
    ) -> Result<TokenAnswer, OauthError> {
        let refresh = parameters.required("refresh_token")?;
        let lifetime = self.access_lifetime;
        let renewed = self.grants.renew(refresh, client, now, lifetime);
        renewed.map(|grant| grant.answer(lifetime)).ok_or(OauthError::InvalidGrant)
    }

    /// Ends all authorizations of the token's user for the client. An unknown token is no error.
    pub(crate) fn revoke(&mut self, client: &str, parameters: &Parameters) -> Result<(), OauthError> {
        let token = parameters.required("token")?;
        if let Some(user) = self.grants.owner(token, client) {
            self.grants.end_all(user, Some(client));
        }
        Ok(())
    }

    /// Returns the account of a valid access token that has this scope.
    pub(crate) fn bearer(&self, access: &str, scope: &str, now: Duration) -> Option<&Account> {
        let grant = self.grants.bearer(access, now)?;
        let allowed = grant.scope.split(' ').any(|granted| granted == scope);
        self.accounts.get(&grant.user).filter(|_| allowed)
    }
}

/// An application that may sign users in.
#[derive(Clone, PartialEq, Eq)]
pub struct Client {
    /// Its public id.
    pub id: String,
    /// Its secret, of any characters.
    pub secret: String,
    /// The allowed redirect URIs, compared exactly.
    pub redirect_uris: Vec<String>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("redirect_uris", &self.redirect_uris)
            .finish_non_exhaustive()
    }
}

/// The reason why a token request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OauthError {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnsupportedGrantType,
}

impl OauthError {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
        }
    }

    pub(crate) const fn description(self) -> &'static str {
        match self {
            Self::InvalidRequest => "A parameter is missing, repeated or invalid.",
            Self::InvalidClient => "The client is unknown, or its secret is wrong.",
            Self::InvalidGrant => "The code or token is unknown, expired, used, or has other terms.",
            Self::UnsupportedGrantType => "Only authorization_code and refresh_token are supported.",
        }
    }
}

/// Returns 24 random bytes as text.
fn random_text() -> String {
    let mut bytes = [0; 24];
    if getrandom::getrandom(&mut bytes).is_err() {
        // Without system randomness the seeds of hash tables are good enough for development.
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
        }
    }
    URL_SAFE_NO_PAD.encode(bytes)
}
