//! Sessions.

use super::{
    column::{MAX_VALUES, from_column, to_column},
    history::{Write, removed},
    row::{Columns as _, Row, RowKey, SessionRow, Value, read},
    unreadable::Unreadable,
};
use crate::{
    connection::AnyConnection,
    failure::{RowError, WorkError},
    schema::sessions,
};
use companion_domain::{
    change::{Key, Kind, Subject, Tally},
    model::{Timestamp, UserId},
    session::{Cutoffs, Session, TokenHash, exceeding},
};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, RunQueryDsl, sql_query,
    sql_types::{BigInt, Binary},
};
use std::{
    collections::{BTreeMap, HashSet},
    num::NonZeroU32,
};

impl Row for SessionRow {
    type Value = Session;

    fn of(session: &Session) -> Self {
        Self {
            id: session.id.as_bytes().to_vec(),
            user_id: to_column(session.user),
            created_at: session.created_at.micros(),
            last_seen_at: session.last_seen_at.micros(),
            user_agent: session.user_agent.as_ref().map(ToString::to_string),
        }
    }

    fn read(&self, _: &Unreadable) -> Result<Session, RowError> {
        Ok(Session {
            id: read!(self.id, |id| <[u8; 32]>::try_from(id.as_slice()).map(TokenHash::from_bytes)),
            user: read!(self.user_id, from_column),
            created_at: Timestamp::from_micros(self.created_at),
            last_seen_at: Timestamp::from_micros(self.last_seen_at),
            user_agent: read!(self.user_agent, |agent| agent.as_deref().map(str::parse).transpose()),
        })
    }
}

/// Returns the subject of a change to this row. An invalid key may be any session's.
pub(super) fn subject(id: Vec<u8>) -> Subject {
    RowKey(vec![id.into()]).subject(Kind::Session)
}

/// Returns the sessions of a user, oldest first.
pub(crate) fn of_user(db: &mut AnyConnection, user: UserId) -> Result<Vec<SessionRow>, WorkError> {
    let rest = "WHERE user_id = ? ORDER BY created_at, id";
    Ok(SessionRow::select(db, rest, vec![to_column(user).into()])?)
}

/// Returns the number of sessions. Scans an index, which takes a few milliseconds for a million sessions.
pub(crate) fn count(db: &mut AnyConnection) -> Result<i64, WorkError> {
    Ok(sessions::table.count().get_result(db)?)
}

/// Ends these sessions, including unreadable ones.
pub(crate) fn end(write: &mut Write<'_>, ending: &[SessionRow]) -> Result<(), WorkError> {
    for some in ending.chunks(MAX_VALUES) {
        let ids = some.iter().map(|session| &session.id);
        diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(write.db)?;
    }
    for session in ending {
        write.note(subject(session.id.clone()));
    }
    Ok(())
}

pub(crate) fn create(
    write: &mut Write<'_>,
    session: &Session,
    cap: NonZeroU32,
    ended: Cutoffs,
) -> Result<Vec<Session>, WorkError> {
    let gone = exceeding(write.unreadable.all(&of_user(write.db, session.user)?), cap, ended);
    if gone.iter().any(|old| old.id == session.id)
        || SessionRow::stored(write.db, &Key::Session(session.id))?.is_some()
    {
        return Err(WorkError::Conflict("there is a session with this id"));
    }
    end(write, &gone.iter().map(SessionRow::of).collect::<Vec<_>>())?;
    diesel::insert_into(sessions::table).values(SessionRow::of(session)).execute(write.db)?;
    write.note(Subject::Session(session.id));
    Ok(gone)
}

/// Ends all sessions of a user. Returns the readable ones, and the number of all.
pub(crate) fn end_all(write: &mut Write<'_>, user: UserId) -> Result<(Vec<Session>, Tally), WorkError> {
    let sessions = of_user(write.db, user)?;
    end(write, &sessions)?;
    Ok((write.unreadable.all(&sessions), removed(sessions.len())))
}

/// Returns whether the user has any session, ended or not.
pub(crate) fn has_any(db: &mut AnyConnection, user: UserId) -> Result<bool, WorkError> {
    let one: Option<i64> = sessions::table
        .filter(sessions::user_id.eq(to_column(user)))
        .select(sessions::created_at)
        .get_result(db)
        .optional()?;
    Ok(one.is_some())
}

/// Removes up to `limit` ended sessions. Returns `None` if unreadable rows used up part of the limit: then only those
/// were removed, and there may be more.
pub(crate) fn prune(
    write: &mut Write<'_>,
    ended: Cutoffs,
    limit: NonZeroU32,
) -> Result<Option<Vec<Session>>, WorkError> {
    let values = [ended.created.micros(), ended.seen.micros(), limit.get().into()].map(Value::from);
    let rest = "WHERE created_at <= ? OR last_seen_at <= ? LIMIT ?";
    let mut rows = SessionRow::select(write.db, rest, values.into())?;
    let pruned = write.unreadable.all(&rows);
    let is_cut_short = rows.len() == limit.get() as usize && pruned.len() < rows.len();
    if is_cut_short {
        let readable: HashSet<_> = pruned.iter().map(|session| session.id.as_bytes().as_slice()).collect();
        rows.retain(|row| !readable.contains(row.id.as_slice()));
    }
    end(write, &rows)?;
    Ok((!is_cut_short).then_some(pruned))
}

/// Advances the last use of each session, in one statement.
pub(crate) fn touch(db: &mut AnyConnection, seen: &BTreeMap<TokenHash, Timestamp>) -> Result<(), WorkError> {
    match db {
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

/// Resets timestamps that lie in the future to `now`. Returns the number of sessions concerned.
pub(crate) fn rewind(write: &mut Write<'_>, now: Timestamp, limit: NonZeroU32) -> Result<u64, WorkError> {
    let horizon = now.horizon().micros();
    let ahead = sessions::created_at.gt(horizon).or(sessions::last_seen_at.gt(horizon));
    let ids: Vec<Vec<u8>> =
        sessions::table.filter(ahead).limit(limit.get().into()).select(sessions::id).load(write.db)?;
    for some in ids.chunks(MAX_VALUES) {
        let these = || sessions::table.filter(sessions::id.eq_any(some));
        diesel::update(these().filter(sessions::created_at.gt(horizon)))
            .set(sessions::created_at.eq(now.micros()))
            .execute(write.db)?;
        diesel::update(these().filter(sessions::last_seen_at.gt(horizon)))
            .set(sessions::last_seen_at.eq(now.micros()))
            .execute(write.db)?;
    }
    let count = ids.len() as u64;
    for id in ids {
        write.note(subject(id));
    }
    Ok(count)
}
