//! The end of sessions, on whichever listener it is asked for.

use crate::{audit::Audit, deadline, error::ApiError, gate::Gate};
use actix_web::HttpRequest;
use companion_domain::{
    change::Tally,
    model::UserId,
    port::StoreError,
    session::Session,
    usecase::{ForgetUser, ManageSessions},
};
use std::sync::Arc;

/// Ends the session of a token, and tells the audit trail.
pub async fn end_session(
    sessions: &Arc<ManageSessions>,
    gate: &Gate,
    request: &HttpRequest,
    token: String,
) -> Result<Session, ApiError> {
    let (sessions, audit) = (Arc::clone(sessions), Audit::of(request, "sign_out"));
    let work = async move {
        let ended = sessions.sign_out(&token).await.map_err(ApiError::from);
        let ended = ended.and_then(|session| session.ok_or(ApiError::TokenInvalid));
        match &ended {
            Ok(session) => audit.ended(session),
            Err(error) => audit.refused(error),
        }
        ended
    };
    deadline::change(gate, request, work).await
}

/// Tells the audit trail which sessions ended. Returns how many.
pub fn audited_end(audit: Audit, ended: Result<Vec<Session>, StoreError>) -> Result<u64, ApiError> {
    match ended.map_err(ApiError::from) {
        Ok(sessions) => {
            let removed = sessions.len() as u64;
            audit.sessions(&sessions, Some(Tally { removed, ..Tally::NOTHING }));
            Ok(removed)
        }
        Err(error) => {
            audit.refused(&error);
            Err(error)
        }
    }
}

/// Forgets a user, and tells the audit trail.
pub async fn forget_user(
    forget: &Arc<ForgetUser>,
    gate: &Gate,
    request: &HttpRequest,
    user: UserId,
) -> Result<Tally, ApiError> {
    let (forget, audit) = (Arc::clone(forget), Audit::of(request, "forget_user").user(user));
    let work = async move {
        match forget.forget(user).await.map_err(ApiError::from) {
            Ok(forgotten) => {
                audit.sessions(&forgotten.sessions, Some(forgotten.tally));
                Ok(forgotten.tally)
            }
            Err(error) => {
                audit.refused(&error);
                Err(error)
            }
        }
    };
    deadline::change(gate, request, work).await
}
