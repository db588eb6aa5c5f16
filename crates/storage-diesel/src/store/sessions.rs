//! Sessions.

use super::AT_ONCE;
use crate::{
    connection::AnyConnection,
    error::Failure,
    row::{
        session::{SessionRow, id_from_bytes},
        snowflake::to_column,
        unreadable::Unreadable,
    },
    schema::sessions,
    storage::DieselStorage,
    writer::Write,
};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
    SelectableHelper,
};
use std::num::NonZeroU32;

fn find(db: &mut AnyConnection, id: &TokenHash) -> QueryResult<Option<SessionRow>> {
    sessions::table.find(id.as_bytes().as_slice()).select(SessionRow::as_select()).first(db).optional()
}

/// A user's sessions, the oldest first.
fn of_user(db: &mut AnyConnection, user: UserId) -> QueryResult<Vec<SessionRow>> {
    sessions::table
        .filter(sessions::user_id.eq(to_column(user)))
        .order((sessions::created_at, sessions::id))
        .select(SessionRow::as_select())
        .load(db)
}

/// Those that must go to leave room for one more.
fn exceeding(mut sessions: Vec<Session>, cap: NonZeroU32, ended: Cutoffs) -> Vec<Session> {
    let room = usize::try_from(cap.get() - 1).unwrap_or(usize::MAX);
    let excess = sessions.len().saturating_sub(room);
    // The sort is stable: within those that are over, and within the others, the oldest stay first.
    sessions.sort_by_key(|session| !ended.end(session));
    sessions.truncate(excess);
    sessions
}

/// Ends these sessions, those that cannot be read included.
fn end(write: &mut Write<'_>, ending: &[SessionRow]) -> QueryResult<()> {
    for some in ending.chunks(AT_ONCE) {
        let ids = some.iter().map(|session| &session.id);
        diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(write.db)?;
    }
    for session in ending {
        write.note(id_from_bytes(&session.id).map_or(Subject::Many(Kind::Session), Subject::Session));
    }
    Ok(())
}

fn create(
    write: &mut Write<'_>,
    session: &Session,
    cap: NonZeroU32,
    ended: Cutoffs,
    unreadable: &Unreadable,
) -> Result<Vec<Session>, Failure> {
    let gone = exceeding(unreadable.all(of_user(write.db, session.user)?), cap, ended);
    if gone.iter().any(|old| old.id == session.id) || find(write.db, &session.id)?.is_some() {
        return Err(Failure::Conflict("there is a session with this id"));
    }
    end(write, &gone.iter().map(SessionRow::from).collect::<Vec<_>>())?;
    diesel::insert_into(sessions::table).values(SessionRow::from(session)).execute(write.db)?;
    write.note(Subject::Session(session.id));
    Ok(gone)
}

/// Ends all sessions of a user.
fn end_all(write: &mut Write<'_>, user: UserId) -> QueryResult<Vec<SessionRow>> {
    let sessions = of_user(write.db, user)?;
    end(write, &sessions)?;
    Ok(sessions)
}

/// Ends all sessions of a user, and counts them.
pub(super) fn forget(write: &mut Write<'_>, user: UserId) -> Result<Tally, Failure> {
    Ok(super::removed(end_all(write, user)?.len()))
}

/// Whether the user has any session, over or not.
pub(super) fn has_any(db: &mut AnyConnection, user: UserId) -> QueryResult<bool> {
    let one: Option<i64> = sessions::table
        .filter(sessions::user_id.eq(to_column(user)))
        .select(sessions::created_at)
        .first(db)
        .optional()?;
    Ok(one.is_some())
}

fn prune(write: &mut Write<'_>, ended: Cutoffs, limit: NonZeroU32) -> QueryResult<Vec<SessionRow>> {
    let over =
        sessions::created_at.le(ended.created.micros()).or(sessions::last_seen_at.le(ended.seen.micros()));
    let rows: Vec<SessionRow> = sessions::table
        .filter(over)
        .limit(limit.get().into())
        .select(SessionRow::as_select())
        .load(write.db)?;
    end(write, &rows)?;
    Ok(rows)
}

#[async_trait]
impl SessionStore for DieselStorage {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let session = *session;
        let unreadable = self.unreadable();
        self.write(move |write| create(write, &session, cap, ended, &unreadable)).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.read(move |db| Ok(find(db, &id)?.map(Session::try_from).transpose()?)).await
    }

    async fn touch(&self, seen: &[(TokenHash, Timestamp)]) -> Result<(), StoreError> {
        if seen.is_empty() {
            return Ok(());
        }
        let seen = seen.to_vec();
        // Use is no news: a session that is seen again has neither begun nor ended.
        self.write(move |write| {
            for (id, time) in seen {
                let earlier = sessions::table
                    .find(id.as_bytes().as_slice())
                    .filter(sessions::last_seen_at.lt(time.micros()));
                diesel::update(earlier).set(sessions::last_seen_at.eq(time.micros())).execute(write.db)?;
            }
            Ok(())
        })
        .await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(unreadable.all(of_user(db, user)?))).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let (id, unreadable) = (*id, self.unreadable());
        self.write(move |write| {
            let session = find(write.db, &id)?;
            end(write, session.as_slice())?;
            Ok(session.and_then(|session| unreadable.one(session)))
        })
        .await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.write(move |write| Ok(unreadable.all(end_all(write, user)?))).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.write(move |write| Ok(unreadable.all(prune(write, ended, limit)?))).await
    }
}
