//! State of the platform: accounts, codes and tokens.

use companion_domain::{
    model::{CodeVerifier, Membership, PlatformTokens, Secret, Span, Timestamp, User, UserId, WebUrl},
    port::CodeExchange,
};
use std::collections::{HashMap, VecDeque};

/// Lifetime of a code.
const CODE_LIFETIME: Span = Span::from_seconds(100);
/// Lifetime of an access token.
const ACCESS_LIFETIME: Span = Span::from_seconds(7 * 24 * 60 * 60);
/// Maximum number of token pairs per user. Beyond it the oldest is dropped.
const MAX_PAIRS: usize = 16;

/// Conditions for the exchange of a code. `None` is not checked.
#[derive(Debug, Clone, Default)]
pub struct CodeTerms {
    /// The PKCE verifier that must accompany the code.
    pub verifier: Option<CodeVerifier>,
    /// The redirect URI that must accompany the code.
    pub redirect: Option<WebUrl>,
    /// The granted scopes, separated by spaces. `None` grants all of them.
    pub scope: Option<String>,
}

#[derive(Default)]
pub(super) struct Platform {
    accounts: HashMap<UserId, Account>,
    codes: HashMap<String, Code>,
    pairs: HashMap<UserId, VecDeque<Pair>>,
    owners: HashMap<String, UserId>,
}

pub(super) struct Account {
    pub(super) user: User,
    pub(super) guilds: Vec<Membership>,
}

struct Code {
    user: UserId,
    terms: CodeTerms,
    expires_at: Timestamp,
}

struct Pair {
    access: String,
    refresh: String,
    expires_at: Timestamp,
}

impl Platform {
    pub(super) fn put_user(&mut self, user: User, guilds: Vec<Membership>) {
        self.accounts.insert(user.id, Account { user, guilds });
    }

    pub(super) fn add_code(&mut self, code: String, user: UserId, terms: CodeTerms, now: Timestamp) {
        self.codes.retain(|_, code| code.expires_at > now);
        self.codes.insert(code, Code { user, terms, expires_at: now.after(CODE_LIFETIME.get()) });
    }

    /// Spends a code, valid or not. Returns its user and granted scopes, or `None` if it is invalid.
    pub(super) fn take_code(
        &mut self,
        exchange: &CodeExchange,
        now: Timestamp,
    ) -> Option<(UserId, Option<String>)> {
        let Code { user, terms, expires_at } = self.codes.remove(exchange.code.expose())?;
        let good = expires_at > now
            && self.accounts.contains_key(&user)
            && terms.verifier.as_ref().is_none_or(|expected| Some(expected) == exchange.verifier.as_ref())
            && terms.redirect.as_ref().is_none_or(|expected| *expected == exchange.redirect);
        good.then_some((user, terms.scope))
    }

    /// Issues a token pair for a user.
    pub(super) fn authorise(
        &mut self,
        user: UserId,
        (access, refresh): (String, String),
        now: Timestamp,
    ) -> PlatformTokens {
        let expires_at = now.after(ACCESS_LIFETIME.get());
        self.owners.insert(access.clone(), user);
        self.owners.insert(refresh.clone(), user);
        let tokens = PlatformTokens {
            access: Secret::new(access.clone()),
            refresh: Some(Secret::new(refresh.clone())),
            expires_at,
        };
        let pairs = self.pairs.entry(user).or_default();
        pairs.push_back(Pair { access, refresh, expires_at });
        let excess = pairs.len().saturating_sub(MAX_PAIRS);
        for old in pairs.drain(..excess) {
            self.owners.remove(&old.access);
            self.owners.remove(&old.refresh);
        }
        tokens
    }

    /// Returns the account of a valid access token.
    pub(super) fn account(&self, access: &str, now: Timestamp) -> Option<&Account> {
        let user = self.owners.get(access)?;
        let works = |pair: &Pair| pair.access == access && pair.expires_at > now;
        let found = self.pairs.get(user)?.iter().any(works);
        self.accounts.get(user).filter(|_| found)
    }

    /// Spends a refresh token and its access token. Returns their user.
    pub(super) fn take_refresh(&mut self, refresh: &str) -> Option<UserId> {
        let user = *self.owners.get(refresh)?;
        let pairs = self.pairs.get_mut(&user)?;
        let index = pairs.iter().position(|pair| pair.refresh == refresh)?;
        let pair = pairs.remove(index)?;
        self.owners.remove(&pair.access);
        self.owners.remove(&pair.refresh);
        Some(user)
    }

    /// Returns the owner of an access or refresh token.
    pub(super) fn owner(&self, token: &str) -> Option<UserId> {
        self.owners.get(token).copied()
    }

    pub(super) fn is_authorised(&self, user: UserId) -> bool {
        self.pairs.get(&user).is_some_and(|pairs| !pairs.is_empty())
    }

    pub(super) fn expire_access(&mut self, user: UserId, now: Timestamp) {
        for pair in self.pairs.get_mut(&user).into_iter().flatten() {
            pair.expires_at = now;
        }
    }

    pub(super) fn end_authorisation(&mut self, user: UserId) {
        for pair in self.pairs.remove(&user).into_iter().flatten() {
            self.owners.remove(&pair.access);
            self.owners.remove(&pair.refresh);
        }
    }
}
