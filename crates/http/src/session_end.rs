//! The end of a session, on whichever listener it is asked for.

use crate::{audit::Audit, deadline, error::ApiError, gate::Gate};
use companion_domain::{change::Tally, session::Session, usecase::ManageSessions};
use std::sync::Arc;

/// Ends the session of a token, and tells the audit trail.
pub async fn end_session(
    sessions: &Arc<ManageSessions>,
    gate: &Gate,
    token: String,
    audit: Audit,
) -> Result<Session, ApiError> {
    let sessions = Arc::clone(sessions);
    let work = async move {
        let ended = sessions.sign_out(&token).await.map_err(ApiError::from);
        let ended = ended.and_then(|session| session.ok_or(ApiError::TokenInvalid));
        match &ended {
            Ok(session) => audit.sessions(std::slice::from_ref(session), Some(Tally::REMOVED)),
            Err(error) => audit.refused(error),
        }
        ended
    };
    deadline::change(gate, work).await
}
