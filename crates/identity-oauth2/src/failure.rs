//! Errors of calls, and the principals that refusals are charged to.

use crate::{BudgetRules, budget::Budget};
use companion_domain::{
    model::{Timestamp, UserId},
    port::{ClientMark, IdentityError, IdentityErrorKind},
};
use std::{collections::HashMap, hash::Hash, time::Duration};

/// Why a call failed or was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("no connection")]
    NoConnection(#[source] reqwest::Error),
    #[error("the call timed out")]
    TimedOut,
    #[error("the connection broke")]
    Broken(#[source] reqwest::Error),
    #[error("the request cannot be built")]
    InvalidRequest,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the answer is compressed, which was not requested")]
    Compressed,
    #[error("the answer has status {0}")]
    Status(u16),
    #[error("the answer cannot be read: {what}, line {line}, column {column}")]
    Unreadable { what: &'static str, line: usize, column: usize },
    #[error("the answer is invalid: {0}")]
    Invalid(&'static str),
    #[error("the platform refused the request: {0}")]
    Refused(&'static str),
    #[error("the platform refused the code or the refresh token")]
    BadGrant,
    #[error("the user did not grant the required scopes")]
    ScopeMissing,
    #[error("the platform refused the access token")]
    TokenRefused,
    #[error("{reason}")]
    Limited { reason: &'static str, wait: Duration },
}

impl CallError {
    /// Converts an error of the HTTP client. The URL is removed, because the error may be shown.
    pub(crate) fn of_client(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_connect() { Self::NoConnection(error) } else { Self::Broken(error) }
    }

    /// Converts a JSON error. Only the position is kept, because the parser's message would quote the response.
    pub(crate) fn of_json(error: &serde_json::Error) -> Self {
        let what = match error.classify() {
            serde_json::error::Category::Io => "truncated",
            serde_json::error::Category::Syntax => "not JSON",
            serde_json::error::Category::Data => "JSON of another shape",
            serde_json::error::Category::Eof => "incomplete JSON",
        };
        Self::Unreadable { what, line: error.line(), column: error.column() }
    }

    const fn kind(&self) -> IdentityErrorKind {
        match self {
            Self::NoConnection(_) => IdentityErrorKind::Unreachable,
            Self::TimedOut => IdentityErrorKind::TimedOut,
            Self::Limited { wait, .. } => IdentityErrorKind::Limited(*wait),
            Self::BadGrant => IdentityErrorKind::BadGrant,
            Self::ScopeMissing => IdentityErrorKind::ScopeMissing,
            Self::TokenRefused => IdentityErrorKind::TokenRefused,
            Self::Broken(_)
            | Self::InvalidRequest
            | Self::TooLarge(_)
            | Self::Compressed
            | Self::Status(_)
            | Self::Unreadable { .. }
            | Self::Invalid(_)
            | Self::Refused(_) => IdentityErrorKind::Failed,
        }
    }
}

impl From<CallError> for IdentityError {
    fn from(error: CallError) -> Self {
        Self::new(error.kind(), error)
    }
}

/// Maximum number of users or tokens that something is known about.
const MAX_ENTRIES: usize = 10_000;

/// Makes room for an entry of the key. If there are too many, drops those that do not count any more, or all if all do.
pub(crate) fn make_room<K: Eq + Hash, V>(
    entries: &mut HashMap<K, V>,
    key: &K,
    mut counts: impl FnMut(&mut V) -> bool,
) {
    if entries.len() >= MAX_ENTRIES && !entries.contains_key(key) {
        entries.retain(|_, value| counts(value));
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
    }
}

/// A small budget per user. A user who has exhausted it waits; other users are not affected.
#[derive(Debug)]
pub(crate) struct UserBudgets {
    rules: BudgetRules,
    users: HashMap<UserId, Budget>,
}

impl UserBudgets {
    pub(crate) fn new(rules: BudgetRules) -> Self {
        Self { rules, users: HashMap::new() }
    }

    /// Returns how long calls for this user are rejected, or `None` if they are not.
    pub(crate) fn exhausted_for(&mut self, user: UserId, now: Timestamp) -> Option<Duration> {
        self.users.get_mut(&user)?.exhausted_for(now)
    }

    pub(crate) fn charge(&mut self, user: UserId, now: Timestamp) {
        make_room(&mut self.users, &user, |budget| budget.spent(now) > 0);
        self.users.entry(user).or_insert_with(|| Budget::new(self.rules)).spend(now);
    }
}

/// For whom a call is made, as far as known, and so who is charged if the platform refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// For this service: a refusal concerns all of its calls.
    Ourselves,
    /// For a client that is signing in. The call itself returns who it is.
    Client(ClientMark),
    /// For a client that is signing in. A concurrent call is about to return who it is.
    Arriving(ClientMark),
    /// For a user.
    User(UserId),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charges() -> UserBudgets {
        UserBudgets::new(BudgetRules { count: 2, within: Duration::from_secs(600) })
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn user(number: usize) -> UserId {
        UserId::new(number as u64).unwrap()
    }

    #[test]
    fn bounds_memory_and_evicts_expired_users_first() {
        let mut charges = charges();
        for number in 1..=MAX_ENTRIES {
            charges.charge(user(number), at(if number == 1 { 500 } else { 0 }));
        }
        charges.charge(user(MAX_ENTRIES + 1), at(600));
        assert_eq!(charges.users.len(), 2);
        for number in 1..=3 * MAX_ENTRIES {
            charges.charge(user(number), at(600));
        }
        assert!(charges.users.len() <= MAX_ENTRIES);
    }
}
