//! Ports over sessions, grants, used codes and pauses of the platform.

use crate::{
    connection::Access,
    storage::DieselStorage,
    table::{
        column::to_column,
        grants, platform, records,
        row::{Columns as _, Row as _, SessionRow},
        sessions,
    },
};
use async_trait::async_trait;
use companion_domain::{
    change::Key,
    model::{CodeFingerprint, Profile, Timestamp, UserId},
    port::{
        ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, PlatformPause, PlatformPauses,
        SessionStore, SignIns, SpentCodes, StoreError,
    },
    session::{Cutoffs, Session, TokenHash, Uses},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
};

#[async_trait]
impl GrantStore for DieselStorage {
    async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write(Access::Urgent, move |write| grants::replace(write, user, &content)).await
    }

    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        self.read(move |db, unreadable| grants::find(db, user, unreadable)).await
    }

    async fn profiles(&self, users: &BTreeSet<UserId>) -> Result<HashMap<UserId, Profile>, StoreError> {
        let users: Vec<_> = users.iter().copied().map(to_column).collect();
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        self.read(move |db, _| grants::profiles(db, &users)).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.write(Access::Urgent, move |write| grants::claim(write.db, user, version, until, dead)).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.write(Access::Urgent, move |write| grants::release_claim(write.db, user, version)).await
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        let content = content.clone();
        self.write(Access::Urgent, move |write| grants::update(write, user, version, &content, claim)).await
    }

    async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write(Access::Urgent, move |write| {
            let same = grants::version(write.db, user)? == Some(version);
            if same {
                records::remove(write, &Key::Grant(user))?;
            }
            Ok(same)
        })
        .await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.write(Access::Urgent, move |write| {
            let same = grants::version(write.db, user)? == Some(version);
            let unused = same && !sessions::has_any(write.db, user)?;
            if unused {
                records::remove(write, &Key::Grant(user))?;
            }
            Ok(unused)
        })
        .await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db, _| grants::holders(db, after, limit, false)).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.read(move |db, _| grants::holders(db, after, limit, true)).await
    }
}

#[async_trait]
impl SessionStore for DieselStorage {
    async fn create(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
    ) -> Result<Vec<Session>, StoreError> {
        let session = session.clone();
        self.write(Access::Urgent, move |write| sessions::create(write, &session, cap, ended)).await
    }

    async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.read(move |db, unreadable| SessionRow::require(db, &Key::Session(id), unreadable)).await
    }

    async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError> {
        // Keep the latest use of each session, because one statement must not update a row twice.
        let mut latest = BTreeMap::new();
        for (id, time) in seen.as_slice() {
            let known = latest.entry(*id).or_insert(*time);
            *known = (*known).max(*time);
        }
        // Not recorded as a change: a session that is used again has neither begun nor ended.
        self.write(Access::Urgent, move |write| sessions::touch(write.db, &latest)).await
    }

    async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.read(move |db, unreadable| Ok(unreadable.all(&sessions::of_user(db, user)?))).await
    }

    async fn count(&self) -> Result<Option<u64>, StoreError> {
        self.read(|db, _| Ok(u64::try_from(sessions::count(db)?).ok())).await
    }

    async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write(Access::Urgent, move |write| {
            let session = SessionRow::stored(write.db, &Key::Session(id))?;
            sessions::end(write, session.as_slice())?;
            Ok(session.and_then(|session| write.unreadable.one(&session)))
        })
        .await
    }

    async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError> {
        let id = *id;
        self.write(Access::Urgent, move |write| {
            let over = SessionRow::require(write.db, &Key::Session(id), write.unreadable)?;
            let over = over.filter(|session| ended.has_ended(session));
            sessions::end(write, &over.iter().map(SessionRow::of).collect::<Vec<_>>())?;
            Ok(over)
        })
        .await
    }

    async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError> {
        self.write(Access::Urgent, move |write| Ok(sessions::end_all(write, user)?.0)).await
    }

    async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError> {
        // Each write stays bounded by `limit`, however many rows are unreadable.
        loop {
            let pruned =
                self.write(Access::Urgent, move |write| sessions::prune(write, ended, limit)).await?;
            if let Some(pruned) = pruned {
                return Ok(pruned);
            }
        }
    }

    async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError> {
        self.write(Access::Urgent, move |write| sessions::rewind(write, now, limit)).await
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
            let gone = sessions::create(write, &session, cap, ended)?;
            grants::replace(write, session.user, &grant)?;
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
            Ok(Some(sessions::end_all(write, user)?.0))
        })
        .await
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        self.write(Access::Urgent, move |write| {
            if grants::version(write.db, user)?.is_some() {
                return Ok(None);
            }
            Ok(Some(sessions::end_all(write, user)?.0))
        })
        .await
    }
}

#[async_trait]
impl SpentCodes for DieselStorage {
    async fn spend(
        &self,
        code: &CodeFingerprint,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let code = *code;
        self.write(Access::Urgent, move |write| platform::spend(write.db, &code, now, until)).await
    }

    async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError> {
        let code = *code;
        self.write(Access::Urgent, move |write| platform::restore(write.db, &code)).await
    }
}

#[async_trait]
impl PlatformPauses for DieselStorage {
    async fn note(&self, pause: PlatformPause) -> Result<(), StoreError> {
        self.write(Access::Urgent, move |write| platform::note(write.db, pause)).await
    }

    async fn current(&self) -> Result<Option<PlatformPause>, StoreError> {
        self.read(|db, _| platform::current(db)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::SqliteOptions;

    #[tokio::test]
    async fn drops_the_marks_that_expire_first_beyond_the_maximum() {
        let folder = tempfile::tempdir().unwrap();
        let storage =
            DieselStorage::open(SqliteOptions::new(folder.path().join("companion.db"))).await.unwrap();
        let code = |number: u8| CodeFingerprint::from_bytes([number; 32]);
        let spend = async |number: u8| {
            let until = Timestamp::from_micros(100 + i64::from(number));
            storage.spend(&code(number), Timestamp::EPOCH, until).await.unwrap()
        };
        for number in 0..20 {
            assert!(spend(number).await);
        }
        storage.write(Access::All, |write| platform::trim_marks(write.db, 5)).await.unwrap();
        assert!(!spend(15).await);
        assert!(spend(14).await);
    }
}
