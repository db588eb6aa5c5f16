//! Sessions and grants where they belong together.

use crate::{
    storage::DieselStorage,
    table::{grants, sessions},
};
use async_trait::async_trait;
use companion_domain::{
    model::UserId,
    port::{GrantContent, GrantVersion, SignIns, StoreError},
    session::{Cutoffs, Session},
};
use std::num::NonZeroU32;

#[async_trait]
impl SignIns for DieselStorage {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let (session, grant, unreadable) = (session.clone(), grant.clone(), self.unreadable());
        self.write_urgently(move |write| {
            let gone = sessions::create(write, &session, cap, ended, &unreadable)?;
            grants::replace(write, session.user, &grant)?;
            Ok(gone)
        })
        .await
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        let unreadable = self.unreadable();
        self.write_urgently(move |write| {
            if !grants::has_version(write.db, user, version)? {
                return Ok(None);
            }
            grants::remove(write, user)?;
            Ok(Some(unreadable.all(sessions::end_all(write, user)?)))
        })
        .await
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        let unreadable = self.unreadable();
        self.write_urgently(move |write| {
            if grants::exists(write.db, user)? {
                return Ok(None);
            }
            Ok(Some(unreadable.all(sessions::end_all(write, user)?)))
        })
        .await
    }
}
