//! Ports over sessions, and over what begins and ends with them.

use super::grants;
use crate::{
    connection::{Access, AnyConnection},
    failure::WorkError,
    schema::sessions,
    storage::DieselStorage,
    table::{
        column::{Field as _, MAX_VALUES, padded},
        history::{Write, removed},
        records,
        row::{Columns as _, Row as _, SessionRow, Sql, Value},
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::{Key, Kind, Subject, Tally},
    model::{Timestamp, UserId},
    port::{ClaimAfter, GrantContent, GrantVersion, SessionStore, SignIns, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses, exceeding},
};
use diesel::{ExpressionMethods, QueryDsl, RunQueryDsl};
use std::{
    collections::{BTreeMap, HashSet},
    num::NonZeroU32,
};

#[async_trait]
impl SessionStore for DieselStorage {
    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.read(move |db, unreadable| SessionRow::require(db, &Key::Session(id), unreadable)).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Keep the latest use of each session, because one statement must not give a row two values.
        let mut latest = BTreeMap::new();
        for (id, time) in seen.as_slice() {
            let known = latest.entry(*id).or_insert(*time);
            *known = (*known).max(*time);
        }
        // Not recorded as a change: a session that is used again has neither begun nor ended.
        self.write(Access::Urgent, move |write| touch(write.db, &latest)).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.read(move |db, unreadable| Ok(unreadable.all(&of_user(db, user)?))).await
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        // Scans an index, which takes a few milliseconds for a million sessions.
        self.read(|db, _| Ok(sessions::table.count().get_result::<i64>(db)?.try_into().ok())).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write(Access::Urgent, move |write| {
            let session = SessionRow::stored(write.db, &Key::Session(id))?;
            end(write, session.as_slice())?;
            Ok(session.and_then(|session| write.unreadable.one(&session)))
        })
        .await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write(Access::Urgent, move |write| {
            let over = SessionRow::require(write.db, &Key::Session(id), write.unreadable)?;
            let over = over.filter(|session| ended.has_ended(session));
            end(write, &over.iter().map(SessionRow::of).collect::<Vec<_>>())?;
            Ok(over)
        })
        .await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.write(Access::Urgent, move |write| Ok(end_all(write, user)?.0)).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        // Each write stays bounded by `limit`, however many rows are unreadable.
        loop {
            let pruned = self.write(Access::Urgent, move |write| prune(write, ended, limit)).await?;
            if let Some(pruned) = pruned {
                return Ok(pruned);
            }
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        let (horizon, now) = (now.horizon().column(), now.column());
        self.write(Access::Urgent, move |write| {
            // One statement, because it holds the lock that sign-ins on all nodes wait for.
            let columns = SessionRow::TABLE.names().collect::<Vec<_>>().join(", ");
            let update = format!(
                "UPDATE sessions SET created_at = CASE WHEN created_at > ? THEN ? ELSE created_at END, \
                 last_seen_at = CASE WHEN last_seen_at > @1 THEN @2 ELSE last_seen_at END WHERE id IN \
                 (SELECT id FROM sessions WHERE created_at > @1 OR last_seen_at > @1 LIMIT ?) RETURNING {columns}"
            );
            let values = [horizon, now, limit.get().into()].map(Value::from);
            let rows = SessionRow::load::<()>(write.db, &Sql::new(&update), values.into())?;
            rows.iter().for_each(|row| write.note(row.key().subject(Kind::Session)));
            Ok(rows.len() as u64)
        })
        .await
    }
}

#[async_trait]
impl SignIns for DieselStorage {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let (session, grant) = (session.clone(), grant.clone());
        self.write(Access::Urgent, move |write| {
            let gone = exceeding(write.unreadable.all(&of_user(write.db, session.user)?), cap, ended);
            if SessionRow::stored(write.db, &Key::Session(session.id))?.is_some() {
                return Err(WorkError::Conflict("there is a session with this id"));
            }
            end(write, &gone.iter().map(SessionRow::of).collect::<Vec<_>>())?;
            diesel::insert_into(sessions::table).values(SessionRow::of(&session)).execute(write.db)?;
            write.note(Subject::Session(session.id));
            grants::put(write, session.user, &grant, ClaimAfter::Released)?;
            Ok(gone)
        })
        .await
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        self.write(Access::Urgent, move |write| {
            if grants::version(write.db, user)? != Some(version) {
                return Ok(None);
            }
            records::remove(write, &Key::Grant(user))?;
            Ok(Some(end_all(write, user)?.0))
        })
        .await
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.write(Access::Urgent, move |write| {
            if grants::version(write.db, user)?.is_some() {
                return Ok(None);
            }
            Ok(Some(end_all(write, user)?.0))
        })
        .await
    }
}

/// Returns the sessions of a user, oldest first.
pub(super) fn of_user(db: &mut AnyConnection, user: UserId) -> Result<Vec<SessionRow>, WorkError> {
    let rest = "WHERE user_id = ? ORDER BY created_at, id";
    Ok(SessionRow::select(db, rest, vec![user.column().into()])?)
}

/// Ends these sessions, including unreadable ones.
fn end(write: &mut Write<'_>, ending: &[SessionRow]) -> Result<(), WorkError> {
    for some in ending.chunks(MAX_VALUES) {
        let ids = some.iter().map(|session| &session.id);
        diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(write.db)?;
    }
    for session in ending {
        write.note(session.key().subject(Kind::Session));
    }
    Ok(())
}

/// Ends all sessions of a user. Returns the readable ones, and the number of all.
pub(super) fn end_all(write: &mut Write<'_>, user: UserId) -> Result<(Vec<Session>, Tally), WorkError> {
    let sessions = of_user(write.db, user)?;
    end(write, &sessions)?;
    Ok((write.unreadable.all(&sessions), removed(sessions.len())))
}

/// Removes up to `limit` ended sessions. Returns `None` if unreadable rows used up part of the limit: then only those
/// were removed, and there may be more.
fn prune(
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
fn touch(db: &mut AnyConnection, seen: &BTreeMap<TokenHash, Timestamp>) -> Result<(), WorkError> {
    let used = padded(seen.iter().map(|(id, time)| [id.as_bytes().to_vec().into(), time.micros().into()]));
    let rows = vec!["(?, ?)"; used.len()].join(", ");
    let update = format!(
        "UPDATE sessions SET last_seen_at = used.column2 FROM (VALUES {rows}) AS used \
         WHERE sessions.id = used.column1 AND sessions.last_seen_at < used.column2"
    );
    Sql::new(&update).execute::<()>(&used.concat(), db)?;
    Ok(())
}
