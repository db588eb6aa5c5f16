//! The audit trail: one event for each sign-in, each end of a session, each forgotten user and each change of the feed.
//!
//! Events go to the target `companion::audit`; the subscriber adds the time. They name sessions by the first eight digits
//! of the token's hash, and never hold a token, a code or a key. Reports of clusters are no changes: they come every few
//! seconds, and would bury the rest.

use crate::{edge::RequestId, error::ApiError};
use actix_web::{HttpMessage as _, HttpRequest};
use companion_domain::{change::Tally, model::UserId, session::Session};
use std::fmt::Display;

/// How it went, where it went well. Otherwise the outcome is the error's word.
pub(crate) const SUCCESS: &str = "success";

/// A line of the audit trail that waits for its outcome.
#[derive(Debug, Clone)]
pub(crate) struct Audit {
    action: &'static str,
    request: Option<RequestId>,
    user: Option<UserId>,
    subject: Option<String>,
}

impl Audit {
    /// Someone tries to do this.
    pub(crate) fn of(request: &HttpRequest, action: &'static str) -> Self {
        let request = request.extensions().get::<RequestId>().cloned();
        Self { action, request, user: None, subject: None }
    }

    /// It is about this user.
    pub(crate) fn user(self, user: UserId) -> Self {
        Self { user: Some(user), ..self }
    }

    /// It is about this guild, or this entry of feedback.
    pub(crate) fn subject(self, subject: impl Display) -> Self {
        Self { subject: Some(subject.to_string()), ..self }
    }

    /// It was done, or refused.
    pub(crate) fn concluded(self, outcome: &Result<Tally, ApiError>) {
        match outcome {
            Ok(tally) => self.write(SUCCESS, &[], Some(*tally)),
            Err(error) => self.refused(error),
        }
    }

    /// It was done, and these sessions are what it was about.
    pub(crate) fn sessions(self, sessions: &[Session], tally: Option<Tally>) {
        let user = sessions.first().map(|session| session.user);
        Self { user: self.user.or(user), ..self }.write(SUCCESS, sessions, tally);
    }

    /// It was refused.
    pub(crate) fn refused(self, error: &ApiError) {
        self.write(error.problem().word, &[], None);
    }

    fn write(self, outcome: &'static str, sessions: &[Session], tally: Option<Tally>) {
        let short: Vec<_> = sessions.iter().map(|session| session.id.short()).collect();
        tracing::info!(
            target: "companion::audit",
            action = self.action,
            outcome,
            user = self.user.map(display),
            subject = self.subject,
            session = Some(short.join(",")).filter(|short| !short.is_empty()),
            added = tally.map(|tally| tally.added),
            changed = tally.map(|tally| tally.changed),
            removed = tally.map(|tally| tally.removed),
            request_id = self.request.as_ref().map(RequestId::as_str),
            "audit"
        );
    }
}
