//! The audit trail: one event for each sign-in, each end of a session, each forgotten user and each change of the feed.
//!
//! Events go to the target `companion::audit`; the subscriber adds the time. They name sessions by the first eight digits
//! of the token's hash, and never hold a token, a code or a key. Reports of clusters are no changes: they come every few
//! seconds, and would bury the rest. Refusals cost a stranger nothing, so those that repeat are counted and told together.

use crate::{
    client::Client,
    error::ApiError,
    repeated::{LineKind, Repeats},
    request_id::{Receipt, RequestId},
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

/// How it went, where it went well. Otherwise the outcome is the error's word.
pub(crate) const SUCCESS: &str = "success";

/// What the end of a session that was over is called.
pub const EXPIRE: &str = "expire_session";
/// What the end of a session is called whose authorisation the platform ended.
pub const END_AUTHORISATION: &str = "end_authorisation";

/// What an application's lines are written with. It is part of the application's data.
#[derive(Debug, Clone)]
pub(crate) struct Trail {
    pub(crate) refusals: Arc<Repeats<RefusalKind>>,
}

impl Trail {
    pub(crate) fn new() -> Self {
        Self { refusals: Repeats::new() }
    }
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// Someone who uses the public API or the dashboard, for themselves.
    User,
    /// Whoever has this key of the management API.
    Key(KeyName),
    /// Someone at the management API who has no key that is known.
    Stranger,
    /// The service itself, because of what it knows or is told.
    Service,
    /// Whoever may use the program on the machine itself.
    CommandLine,
}

impl Actor {
    /// Who sent this request.
    fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<KeyName>().map_or(Self::User, |key| Self::Key(key.clone()))
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Key(_) => "key",
            Self::Stranger => "stranger",
            Self::Service => "service",
            Self::CommandLine => "command_line",
        }
    }

    fn key(&self) -> Option<&str> {
        if let Self::Key(name) = self { Some(name.as_str()) } else { None }
    }
}

/// A line of the trail, as programs read it: this is every field there is. What a line has nothing to say about is left out.
struct Line<'a> {
    action: &'static str,
    /// [`SUCCESS`], or the word of the error.
    outcome: &'static str,
    by: &'a Actor,
    user: Option<UserId>,
    subject: Option<&'a str>,
    sessions: &'a [Session],
    tally: Option<Tally>,
    client: Option<Client>,
    request_id: Option<&'a str>,
    /// How often the same came again.
    repeated: Option<u64>,
}

impl Line<'_> {
    fn write(&self) {
        let short: Vec<_> = self.sessions.iter().map(|session| session.id.short()).collect();
        tracing::info!(
            target: "companion::audit",
            action = self.action,
            outcome = self.outcome,
            by = self.by.word(),
            key = self.by.key(),
            user = self.user.map(display),
            subject = self.subject,
            session = Some(short.join(",")).filter(|short| !short.is_empty()),
            added = self.tally.map(|tally| tally.added),
            changed = self.tally.map(|tally| tally.changed),
            removed = self.tally.map(|tally| tally.removed),
            client = self.client.map(display),
            request_id = self.request_id,
            repeated = self.repeated,
            "audit"
        );
    }
}

/// Refusals of one kind.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RefusalKind {
    action: &'static str,
    outcome: &'static str,
    by: Actor,
    client: Option<Client>,
}

impl LineKind for RefusalKind {
    /// Whoever has this many addresses is not stopped by looking at each of them.
    const MOST: usize = 1000;

    fn coarser(self) -> Self {
        Self { client: None, ..self }
    }

    fn summarise(&self, repeated: u64) {
        Line {
            action: self.action,
            outcome: self.outcome,
            by: &self.by,
            user: None,
            subject: None,
            sessions: &[],
            tally: None,
            client: self.client,
            request_id: None,
            repeated: Some(repeated),
        }
        .write();
    }
}

/// A line of the audit trail that waits for its outcome.
#[derive(Debug, Clone)]
pub struct Audit {
    action: &'static str,
    by: Actor,
    request: Option<RequestId>,
    client: Option<Client>,
    refusals: Option<Arc<Repeats<RefusalKind>>>,
    user: Option<UserId>,
    subject: Option<String>,
}

impl Audit {
    /// Whoever sent this request tries to do this.
    pub fn of(request: &HttpRequest, action: &'static str) -> Self {
        let trail = request.app_data::<Trail>();
        Self {
            action,
            by: Actor::of(request),
            request: Receipt::of(request).map(|receipt| receipt.id),
            client: Client::behind_request(request),
            refusals: trail.map(|trail| Arc::clone(&trail.refusals)),
            user: None,
            subject: None,
        }
    }

    /// Whoever may use the program on the machine itself does this.
    #[must_use]
    pub const fn of_command_line(action: &'static str) -> Self {
        let by = Actor::CommandLine;
        Self { action, by, request: None, client: None, refusals: None, user: None, subject: None }
    }

    /// The service does this, and nobody asked for it.
    #[must_use]
    pub const fn by_service(action: &'static str) -> Self {
        let by = Actor::Service;
        Self { action, by, request: None, client: None, refusals: None, user: None, subject: None }
    }

    /// What the service does because of that, in a line of its own.
    #[must_use]
    pub fn caused(&self, action: &'static str) -> Self {
        Self { action, by: Actor::Service, user: None, subject: None, ..self.clone() }
    }

    /// It is someone else who does it.
    pub fn by(self, by: Actor) -> Self {
        Self { by, ..self }
    }

    /// It is about this user.
    pub fn user(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }

    /// It is about this guild, or this entry of feedback.
    pub fn subject(self, subject: impl Display) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// It was done, or refused.
    pub fn concluded(self, outcome: &Result<Tally, ApiError>) {
        match outcome {
            Ok(tally) => self.write(SUCCESS, &[], Some(*tally)),
            Err(error) => self.refused(error),
        }
    }

    /// It was done, and these sessions are what it was about.
    pub fn sessions(self, sessions: &[Session], tally: Option<Tally>) {
        let user = sessions.first().map(|session| session.user);
        Self { user: self.user.or(user), ..self }.write(SUCCESS, sessions, tally);
    }

    /// This session has ended.
    pub fn ended(self, session: &Session) {
        self.sessions(std::slice::from_ref(session), Some(Tally::REMOVED));
    }

    /// It was refused.
    pub fn refused(self, error: &ApiError) {
        let outcome = error.problem().word;
        let kind = RefusalKind { action: self.action, outcome, by: self.by.clone(), client: self.client };
        if self.refusals.as_ref().is_none_or(|refusals| refusals.is_first(kind)) {
            self.write(outcome, &[], None);
        }
    }

    fn write(self, outcome: &'static str, sessions: &[Session], tally: Option<Tally>) {
        Line {
            action: self.action,
            outcome,
            by: &self.by,
            user: self.user,
            subject: self.subject.as_deref(),
            sessions,
            tally,
            client: self.client,
            request_id: self.request.as_ref().map(RequestId::as_str),
            repeated: None,
        }
        .write();
    }
}

/// What a key of the management API is called: in the configuration, in the audit trail, and in refusals. It says
/// nothing about the key itself, so it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(Arc<str>);

impl KeyName {
    /// The longest that is accepted, in characters.
    const LONGEST: usize = 64;

    /// What keys that may do everything are called. No configured name has a dot.
    #[must_use]
    pub fn of_management_key() -> Self {
        Self("management.key".into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(plain) {
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
    fn a_name_is_short_and_plain() {
        for name in ["bot", "Monitoring_2-b", &"x".repeat(64)] {
            assert_eq!(name.parse::<KeyName>().unwrap().as_str(), name);
        }
        for name in ["", "two words", "management.key", "ä", "a\"b", &"x".repeat(65)] {
            assert!(name.parse::<KeyName>().is_err(), "{name}");
        }
    }
}
