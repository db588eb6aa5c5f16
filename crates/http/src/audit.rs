//! The audit trail: one event per sign-in, ended session, forgotten user and change of the feed.
//!
//! Events have the target `companion::audit`; the tracing subscriber adds the time. They identify sessions by the first
//! eight digits of the token's hash, and never contain a token, a code or a key. Cluster reports are not audited: they
//! come every few seconds and would bury the rest. Refusals cost an attacker nothing, so repeated ones are counted and
//! summarised.

use crate::{
    client::Client,
    error::ApiError,
    repeated::{LineKind, Repeats},
    request_id::{RequestId, RequestStart},
};
use actix_web::{HttpMessage as _, HttpRequest};
use companion_domain::{
    change::Tally,
    model::{Invalid, UserId},
    session::Session,
};
use std::{
    fmt::{self, Display},
    str::FromStr,
    sync::Arc,
};

/// Outcome of a success. Other outcomes are error words.
pub(crate) const SUCCESS: &str = "success";

/// Action of removing an expired session.
pub const EXPIRE: &str = "expire_session";
/// Action of ending a session whose authorisation the platform revoked.
pub const END_AUTHORISATION: &str = "end_authorisation";

/// Refusals that an application has audited, kept in its application data.
pub(crate) type Refusals = Arc<Repeats<RefusalKind>>;

/// Who performed an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A user of the public API or the dashboard, on their own data.
    User,
    /// A client with this management key.
    Key(KeyName),
    /// A client of the management API without a valid key.
    Unauthenticated,
    /// The service itself.
    Service,
    /// An operator with access to the program on the machine.
    CommandLine,
}

impl Actor {
    /// Returns the sender of this request.
    fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<KeyName>().map_or(Self::User, |key| Self::Key(key.clone()))
    }

    /// Returns its word in the audit trail, and the name of its key, if any.
    fn shown(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::User => ("user", None),
            Self::Key(name) => ("key", Some(name.as_str())),
            Self::Unauthenticated => ("stranger", None),
            Self::Service => ("service", None),
            Self::CommandLine => ("command_line", None),
        }
    }
}

/// Refusals that count as repetitions of each other.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RefusalKind {
    action: &'static str,
    outcome: &'static str,
    by: Actor,
    client: Option<Client>,
}

impl LineKind for RefusalKind {
    /// An attacker with more addresses is not stopped by listing each of them.
    const MAX_KINDS: usize = 1000;

    fn coarser(self) -> Self {
        Self { client: None, ..self }
    }

    fn summarise(&self, repeated: u64) {
        let audit = Audit::without_request(self.action, self.by.clone());
        Audit { client: self.client, ..audit }.write(self.outcome, &[], None, Some(repeated));
    }
}

/// An event whose outcome is not known yet.
#[derive(Debug, Clone)]
pub struct Audit {
    action: &'static str,
    by: Actor,
    request: Option<RequestId>,
    client: Option<Client>,
    refusals: Option<Refusals>,
    user: Option<UserId>,
    subject: Option<String>,
}

impl Audit {
    /// Starts an event for an action of this request's sender.
    pub fn of(request: &HttpRequest, action: &'static str) -> Self {
        Self {
            action,
            by: Actor::of(request),
            request: RequestStart::of(request).map(|start| start.id),
            client: Client::behind_request(request),
            refusals: request.app_data::<Refusals>().cloned(),
            user: None,
            subject: None,
        }
    }

    /// Starts an event for an action of an operator at the command line.
    #[must_use]
    pub const fn of_command_line(action: &'static str) -> Self {
        Self::without_request(action, Actor::CommandLine)
    }

    /// Starts an event for an action that the service performs on its own.
    #[must_use]
    pub const fn by_service(action: &'static str) -> Self {
        Self::without_request(action, Actor::Service)
    }

    const fn without_request(action: &'static str, by: Actor) -> Self {
        Self { action, by, request: None, client: None, refusals: None, user: None, subject: None }
    }

    /// Starts another event for an action of the service that this one caused.
    #[must_use]
    pub fn caused(&self, action: &'static str) -> Self {
        Self { action, by: Actor::Service, user: None, subject: None, ..self.clone() }
    }

    /// Sets the actor.
    pub fn by(self, by: Actor) -> Self {
        Self { by, ..self }
    }

    /// Sets the user concerned.
    pub fn user(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Sets the guild or feedback entry concerned.
    pub fn subject(self, subject: impl Display) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// Writes the event with this outcome.
    pub fn concluded(&self, outcome: Result<&Tally, &ApiError>) {
        match outcome {
            Ok(tally) => self.write(SUCCESS, &[], Some(*tally), None),
            Err(error) => self.refused(error),
        }
    }

    /// Writes the success of an action on these sessions.
    pub fn sessions(&self, sessions: &[Session], tally: Option<Tally>) {
        self.write(SUCCESS, sessions, tally, None);
    }

    /// Writes that this session has ended.
    pub fn ended(&self, session: &Session) {
        self.sessions(std::slice::from_ref(session), Some(Tally::REMOVED));
    }

    /// Writes a refusal, or counts it if it repeats an earlier one.
    pub fn refused(&self, error: &ApiError) {
        let outcome = error.problem().word;
        let kind = RefusalKind { action: self.action, outcome, by: self.by.clone(), client: self.client };
        if self.refusals.as_ref().is_none_or(|refusals| refusals.is_first(kind)) {
            self.write(outcome, &[], None, None);
        }
    }

    /// Writes the event with this outcome: [`SUCCESS`], or the error word. Empty fields are omitted. `repeated` is the
    /// number of repetitions that it summarises.
    fn write(
        &self,
        outcome: &'static str,
        sessions: &[Session],
        tally: Option<Tally>,
        repeated: Option<u64>,
    ) {
        let user = self.user.or(sessions.first().map(|session| session.user));
        let (by, key) = self.by.shown();
        let short: Vec<_> = sessions.iter().map(|session| session.id.short()).collect();
        tracing::info!(
            target: "companion::audit",
            action = self.action,
            outcome,
            by,
            key,
            user = user.map(display),
            subject = self.subject.as_deref(),
            session = Some(short.join(",")).filter(|short| !short.is_empty()),
            added = tally.map(|tally| tally.added),
            changed = tally.map(|tally| tally.changed),
            removed = tally.map(|tally| tally.removed),
            client = self.client.map(display),
            request_id = self.request.as_ref().map(RequestId::as_str),
            repeated,
            "audit"
        );
    }
}

/// The configured name of a management key. It reveals nothing about the key, so the audit trail and error messages may
/// show it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(Arc<str>);

impl KeyName {
    /// Maximum length in characters.
    const MAX_LENGTH: usize = 64;

    /// Returns the name of the key with all scopes. Configured names cannot contain a dot.
    #[must_use]
    pub fn of_management_key() -> Self {
        Self("management.key".into())
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if (1..=Self::MAX_LENGTH).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Self(text.into()));
        }
        Err(Invalid::new("name", "a name of 1 to 64 characters out of A-Z, a-z, 0-9, _ and -"))
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_short_plain_key_names() {
        for name in ["bot", "Monitoring_2-b", &"x".repeat(64)] {
            assert_eq!(name.parse::<KeyName>().unwrap().as_str(), name);
        }
        for name in ["", "two words", "management.key", "ä", "a\"b", &"x".repeat(65)] {
            assert!(name.parse::<KeyName>().is_err(), "{name}");
        }
    }
}
