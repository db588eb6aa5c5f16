//! Sessions.

use crate::{
    storage::DieselStorage,
    table::{row::SessionRow, sessions, write::Write},
};
use async_trait::async_trait;
use companion_domain::{
    model::{Timestamp, UserId},
    port::{SessionStore, StoreError},
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{collections::BTreeMap, num::NonZeroU32};

#[async_trait]
impl SessionStore for DieselStorage {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let session = session.clone();
        let unreadable = self.unreadable();
        self.write_urgently(move |write| sessions::create(write, &session, cap, ended, &unreadable)).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.read(move |db| Ok(sessions::find(db, &id)?.map(Session::try_from).transpose()?)).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Each session once, and its latest use: a statement may not meet a row twice.
        let mut latest = BTreeMap::new();
        for (id, time) in seen.as_slice() {
            let known = latest.entry(*id).or_insert(*time);
            *known = (*known).max(*time);
        }
        // Use is no news: a session that is seen again has neither begun nor ended.
        self.write_urgently(move |write| Ok(sessions::touch(write.db, &latest)?)).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.read(move |db| Ok(unreadable.all(sessions::of_user(db, user)?))).await
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        self.read(|db| Ok(u64::try_from(sessions::count(db)?).ok())).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let (id, unreadable) = (*id, self.unreadable());
        self.write_urgently(move |write| {
            let session = sessions::find(write.db, &id)?;
            sessions::end(write, session.as_slice())?;
            Ok(session.and_then(|session| unreadable.one(session)))
        })
        .await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write_urgently(move |write| {
            let Some(row) = sessions::find(write.db, &id)? else { return Ok(None) };
            let over = Some(Session::try_from(row)?).filter(|session| ended.end(session));
            sessions::end(write, &over.iter().map(SessionRow::from).collect::<Vec<_>>())?;
            Ok(over)
        })
        .await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        let unreadable = self.unreadable();
        self.write_urgently(move |write| Ok(unreadable.all(sessions::end_all(write, user)?))).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        // Each write stays as short as `limit` says, however many rows cannot be read.
        loop {
            let unreadable = self.unreadable();
            let prune = move |write: &mut Write<'_>| Ok(sessions::prune(write, ended, limit, &unreadable)?);
            if let Some(pruned) = self.write_urgently(prune).await? {
                return Ok(pruned);
            }
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.write_urgently(move |write| sessions::rewind(write, now, limit)).await
    }
}
