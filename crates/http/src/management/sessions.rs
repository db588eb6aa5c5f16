//! Sessions and people: the operator's and the dashboard backend's hold on them.

use super::{
    Shared,
    query::Query,
    request::{NoBody, segment},
    success,
};
use crate::{
    audit::Audit,
    deadline::{change, within_storage},
    envelope,
    error::ApiError,
    headers,
    public::end_session,
    routing, wire,
};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use companion_domain::{
    change::Tally,
    model::UserId,
    session::{Session, TokenHash},
};
use std::sync::Arc;

/// `POST /sessions/sign-out`.
pub(super) fn sign_out_resource(path: &'static str) -> Resource {
    routing::resource(path, "POST, OPTIONS").route(web::post().to(sign_out))
}

/// `DELETE /sessions/{id}`.
pub(super) fn session_resource(path: &'static str) -> Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(revoke))
}

/// `DELETE /users/{user}/sessions`.
pub(super) fn user_sessions_resource(path: &'static str) -> Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(revoke_user))
}

/// `DELETE /users/{user}`.
pub(super) fn user_resource(path: &'static str) -> Resource {
    routing::resource(path, "DELETE, OPTIONS").route(web::delete().to(forget))
}

pub(super) async fn list(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let query = Query::read(request.query_string(), &["user"])?;
    let user = query.required("user")?;
    let sessions = within_storage(shared.sessions.of_user(user)).await?;
    let ends = |session| shared.sessions.ends_at(session);
    let data: Vec<_> =
        sessions.iter().map(|session| wire::SessionRecord::new(session, ends(session))).collect();
    Ok(success(envelope::success("The live sessions of the user, the oldest first.", data)?))
}

async fn sign_out(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let token = headers::token(request.headers())?.to_owned();
    end_session(&shared.sessions, token, Audit::of(&request, "sign_out")).await?;
    ended(1)
}

async fn revoke(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let id: TokenHash = segment(&request, "id")?;
    let (sessions, audit) = (Arc::clone(&shared.sessions), Audit::of(&request, "revoke_session"));
    let work = async move {
        let session = sessions.revoke(&id).await.map_err(ApiError::from);
        told(audit, session.map(|session| session.into_iter().collect()))
    };
    ended(change(work).await?)
}

async fn revoke_user(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (sessions, audit) = (Arc::clone(&shared.sessions), Audit::of(&request, "revoke_user").user(user));
    let work = async move { told(audit, sessions.revoke_user(user).await.map_err(ApiError::from)) };
    ended(change(work).await?)
}

async fn forget(
    shared: web::Data<Shared>,
    request: HttpRequest,
    _: NoBody,
) -> Result<HttpResponse, ApiError> {
    let user: UserId = segment(&request, "user")?;
    let (forget, audit) = (Arc::clone(&shared.forget), Audit::of(&request, "forget_user").user(user));
    let work = async move {
        let forgotten = forget.forget(user).await.map_err(ApiError::from);
        audit.concluded(&forgotten);
        forgotten
    };
    let tally = change(work).await?;
    let message = if tally == Tally::NOTHING {
        "Nothing was known of the user."
    } else {
        "What was known of the user is forgotten."
    };
    Ok(success(envelope::success(message, wire::Changes::from(tally))?))
}

/// Tells the audit trail which sessions ended. Returns how many.
fn told(audit: Audit, ended: Result<Vec<Session>, ApiError>) -> Result<u64, ApiError> {
    match ended {
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

fn ended(removed: u64) -> Result<HttpResponse, ApiError> {
    let message = match removed {
        0 => "There was no such session.",
        1 => "The session has ended.",
        2.. => "The sessions have ended.",
    };
    let tally = Tally { removed, ..Tally::NOTHING };
    Ok(success(envelope::success(message, wire::Changes::from(tally))?))
}
