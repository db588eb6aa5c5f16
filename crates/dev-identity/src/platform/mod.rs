//! The platform's data: applications, users, codes and authorizations.

mod account;
mod authorization;

pub(crate) use self::account::{Credentials, Parameters};
use self::authorization::{Authorization, Authorizations, Code, Grant};
pub use self::{
    account::{Account, AccountGuild},
    authorization::CodeTerms,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fmt,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Number of codes that are remembered, so that reuse is detected.
const MAX_CODES: usize = 100_000;
/// The scopes of a code unless others are given.
const ALL_SCOPES: &str = "identify guilds";

#[derive(Default)]
pub(crate) struct Platform {
    clients: BTreeMap<String, Client>,
    accounts: BTreeMap<u64, Account>,
    codes: HashMap<String, Code>,
    /// The codes, oldest first.
    issued: VecDeque<String>,
    pub(crate) grants: Authorizations,
    code_lifetime: Duration,
    access_lifetime: Duration,
}

impl Platform {
    /// Creates an empty platform with these lifetimes.
    pub(crate) fn new(code_lifetime: Duration, access_lifetime: Duration) -> Self {
        Self { code_lifetime, access_lifetime, ..Self::default() }
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

    /// Issues a code for a user. If it is minted for a test, it needs no challenge to accept a verifier.
    pub(crate) fn issue_code(
        &mut self,
        user: u64,
        terms: CodeTerms,
        is_minted: bool,
        now: Duration,
    ) -> String {
        let text = random_text();
        let expires_at = now.saturating_add(self.code_lifetime);
        self.codes.insert(text.clone(), Code { user, terms, is_minted, expires_at, is_spent: false });
        self.issued.push_back(text.clone());
        if self.issued.len() > MAX_CODES {
            let oldest = self.issued.pop_front();
            oldest.and_then(|oldest| self.codes.remove(&oldest));
        }
        text
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
    ) -> Result<Value, OauthError> {
        let text = parameters.required("code")?;
        let code = self.codes.get_mut(text).ok_or(OauthError::InvalidGrant)?;
        if std::mem::replace(&mut code.is_spent, true) {
            // A reused code may be stolen, so its tokens are revoked (RFC 6749, 4.1.2).
            self.grants.end(code.user, |known| known.grant.code == text);
            return Err(OauthError::InvalidGrant);
        }
        let is_known = self.accounts.contains_key(&code.user);
        if !is_known || now >= code.expires_at || !code.accepts(client, parameters) {
            return Err(OauthError::InvalidGrant);
        }
        let (user, client, code) = (code.user, client.to_owned(), &code.terms);
        let scope = code.scope.clone().unwrap_or_else(|| ALL_SCOPES.to_owned());
        Ok(self.open(Grant { user, client, scope, code: text.to_owned() }, now))
    }

    /// Exchanges a refresh token for new tokens. The old ones become invalid.
    pub(crate) fn renew(
        &mut self,
        client: &str,
        parameters: &Parameters,
        now: Duration,
    ) -> Result<Value, OauthError> {
        let refresh = parameters.required("refresh_token")?;
        let known = self.grants.find(refresh);
        let known = known.filter(|known| known.refresh == refresh && known.grant.client == client);
        let grant = known.ok_or(OauthError::InvalidGrant)?.grant.clone();
        self.grants.end(grant.user, |known| known.refresh == refresh);
        Ok(self.open(grant, now))
    }

    /// Issues tokens, and returns the response with them.
    fn open(&mut self, grant: Grant, now: Duration) -> Value {
        let [access, refresh] = [(); 2].map(|()| format!("{}.{}", grant.user, random_text()));
        let answer = json!({
            "token_type": "Bearer",
            "access_token": access,
            "expires_in": self.access_lifetime.as_secs(),
            "refresh_token": refresh,
            "scope": grant.scope,
        });
        let expires_at = now.saturating_add(self.access_lifetime);
        self.grants.open(Authorization { grant, access, refresh, expires_at });
        answer
    }

    /// Ends all authorizations of the token's user for the client. An unknown token is no error.
    pub(crate) fn revoke(&mut self, client: &str, parameters: &Parameters) -> Result<Value, OauthError> {
        let known = self.grants.find(parameters.required("token")?);
        let user = known.filter(|known| known.grant.client == client).map(|known| known.grant.user);
        if let Some(user) = user {
            self.grants.end(user, |known| known.grant.client == client);
        }
        Ok(json!({}))
    }

    /// Returns the account of a valid access token that has this scope.
    pub(crate) fn bearer(&self, access: &str, scope: &str, now: Duration) -> Option<&Account> {
        let known = self.grants.find(access)?;
        let is_valid = known.access == access && now < known.expires_at;
        let allowed = is_valid && known.grant.scope.split(' ').any(|granted| granted == scope);
        self.accounts.get(&known.grant.user).filter(|_| allowed)
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
    /// Returns its name in the protocol, and its description.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::InvalidRequest => ("invalid_request", "A parameter is missing, repeated or invalid."),
            Self::InvalidClient => ("invalid_client", "The client is unknown, or its secret is wrong."),
            Self::InvalidGrant => {
                ("invalid_grant", "The code or token is unknown, expired, used, or has other terms.")
            }
            Self::UnsupportedGrantType => {
                ("unsupported_grant_type", "Only authorization_code and refresh_token are supported.")
            }
        }
    }
}

/// Returns 24 random bytes as text. The seeds of hash tables are random enough for development.
fn random_text() -> String {
    let bytes: Vec<_> = (0..3).flat_map(|_| RandomState::new().hash_one(0).to_le_bytes()).collect();
    URL_SAFE_NO_PAD.encode(bytes)
}
