//! Sessions.

use super::AT_ONCE;
use crate::{
    connection::AnyConnection,
    failure::Failure,
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
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, RunQueryDsl,
    SelectableHelper, sql_query,
    sql_types::{BigInt, Binary},
};
use std::{collections::BTreeMap, num::NonZeroU32};

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

pub(super) fn create(
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
pub(super) fn end_all(write: &mut Write<'_>, user: UserId) -> QueryResult<Vec<SessionRow>> {
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

/// Moves last uses forward, with one statement.
fn touch(db: &mut AnyConnection, seen: &BTreeMap<TokenHash, Timestamp>) -> QueryResult<()> {
    match db {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(db) => {
            let rows = vec!["(?, ?)"; seen.len()].join(", ");
            let update = format!(
                "UPDATE sessions SET last_seen_at = used.column2 FROM (VALUES {rows}) AS used \
                 WHERE sessions.id = used.column1 AND sessions.last_seen_at < used.column2"
            );
            let update = seen.iter().fold(sql_query(update).into_boxed(), |update, (id, time)| {
                update.bind::<Binary, _>(id.as_bytes().as_slice()).bind::<BigInt, _>(time.micros())
            });
            update.execute(db)?;
        }
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(db) => {
            let ids: Vec<_> = seen.keys().map(|id| id.as_bytes().as_slice()).collect();
            let times: Vec<_> = seen.values().map(|time| time.micros()).collect();
            let update = "UPDATE sessions SET last_seen_at = used.seen FROM unnest($1, $2) AS used (id, seen) \
                          WHERE sessions.id = used.id AND sessions.last_seen_at < used.seen";
            sql_query(update)
                .bind::<diesel::sql_types::Array<Binary>, _>(ids)
                .bind::<diesel::sql_types::Array<BigInt>, _>(times)
                .execute(db)?;
        }
    }
    Ok(())
}

/// Takes times back that lie ahead, and says of how many sessions.
fn rewind(write: &mut Write<'_>, now: Timestamp, limit: NonZeroU32) -> Result<u64, Failure> {
    let horizon = now.horizon().micros();
    let ahead = sessions::created_at.gt(horizon).or(sessions::last_seen_at.gt(horizon));
    let ids: Vec<Vec<u8>> =
        sessions::table.filter(ahead).limit(limit.get().into()).select(sessions::id).load(write.db)?;
    for some in ids.chunks(AT_ONCE) {
        let these = || sessions::table.filter(sessions::id.eq_any(some));
        diesel::update(these().filter(sessions::created_at.gt(horizon)))
            .set(sessions::created_at.eq(now.micros()))
            .execute(write.db)?;
        diesel::update(these().filter(sessions::last_seen_at.gt(horizon)))
            .set(sessions::last_seen_at.eq(now.micros()))
            .execute(write.db)?;
    }
    for id in &ids {
        write.note(id_from_bytes(id).map_or(Subject::Many(Kind::Session), Subject::Session));
    }
    Ok(ids.len() as u64)
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
        self.write_urgently(move |write| create(write, &session, cap, ended, &unreadable)).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.read(move |db| Ok(find(db, &id)?.map(Session::try_from).transpose()?)).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Each session once, and its latest use: a statement may not meet a row twice.
        let mut latest = BTreeMap::new();
        for (id, time) in seen.as_slice() {
            let known = latest.entry(*id).or_insert(*time);
            *known = (*known).max(*time);
        }
        // Use is no news: a session that is seen again has neither begun nor ended.
        self.write_urgently(move |write| Ok(touch(write.db, &latest)?)).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(unreadable.all(of_user(db, user)?))).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let (id, unreadable) = (*id, self.unreadable());
        self.write_urgently(move |write| {
            let session = find(write.db, &id)?;
            end(write, session.as_slice())?;
            Ok(session.and_then(|session| unreadable.one(session)))
        })
        .await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write_urgently(move |write| {
            let Some(row) = find(write.db, &id)? else { return Ok(None) };
            let over = Some(Session::try_from(row)?).filter(|session| ended.end(session));
            end(write, &over.iter().map(SessionRow::from).collect::<Vec<_>>())?;
            Ok(over)
        })
        .await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.write_urgently(move |write| Ok(unreadable.all(end_all(write, user)?))).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.write_urgently(move |write| Ok(unreadable.all(prune(write, ended, limit)?))).await
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.write_urgently(move |write| rewind(write, now, limit)).await
    }
}
