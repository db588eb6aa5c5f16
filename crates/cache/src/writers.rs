//! Ports whose reads bypass the cache, because they decide about access or are shown to an operator. Writes of grants and
//! sign-ins invalidate entries before they return, also after an error, since the write may have been committed. Records
//! are invalidated by the change feed.

use crate::{entries::Entries, entry::Put, key::Key, sessions::CachedSessions};
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Change, Key as RecordKey, Kind, Subject, max_named},
    model::{Guild, GuildId, Profile, Timestamp, UserId},
    port::{
        ApplyError, CheckedSource, ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion,
        Mutation, Numbered, Record, RecordSink, RecordSource, Records, Replace, SignIns, StoreError,
        SyncError,
    },
    session::{Cutoffs, Session},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    num::NonZeroU32,
    sync::Arc,
};

/// Grants whose writes invalidate listings. Tokens of the platform are never cached.
pub(crate) struct InvalidatingGrants {
    pub(crate) inner: Arc<dyn GrantStore>,
    pub(crate) entries: Arc<Entries>,
}

impl InvalidatingGrants {
    /// Writes, then invalidates the user's listing.
    async fn invalidating<T>(&self, user: UserId, write: impl Future<Output = T> + Send) -> T {
        let written = write.await;
        self.entries.invalidate([Key::User(user)]);
        written
    }
}

#[async_trait]
impl GrantStore for InvalidatingGrants {
    async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError> {
        self.inner.find(user).await
    }

    async fn profiles(&self, users: &BTreeSet<UserId>) -> Result<HashMap<UserId, Profile>, StoreError> {
        self.inner.profiles(users).await
    }

    async fn claim_refresh(
        &self,
        user: UserId,
        version: GrantVersion,
        until: Timestamp,
        dead: Option<Timestamp>,
    ) -> Result<Claimed, StoreError> {
        self.inner.claim_refresh(user, version, until, dead).await
    }

    async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError> {
        self.inner.release_claim(user, version).await
    }

    async fn update(
        &self,
        user: UserId,
        version: GrantVersion,
        content: &GrantContent,
        claim: ClaimAfter,
    ) -> Result<GrantVersion, StoreError> {
        self.invalidating(user, self.inner.update(user, version, content, claim)).await
    }

    async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError> {
        self.invalidating(user, self.inner.remove_unused(user, version)).await
    }

    async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.holders(after, limit).await
    }

    async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError> {
        self.inner.unused(after, limit).await
    }
}

/// Records that tell which guilds their writes put, so that listings show them without reading them again.
pub(crate) struct NotingRecords {
    pub(crate) inner: Arc<dyn Records>,
    pub(crate) entries: Arc<Entries>,
}

impl NotingRecords {
    /// Notes those of the guilds that a write has changed. `loads` had ended when it began.
    fn note(&self, applied: &Applied, guilds: &BTreeMap<GuildId, Arc<Guild>>, loads: u64) {
        let put = |change: &Change| {
            let Subject::Guild(id) = change.subject else { return None };
            Some((change.revision, Put { guild: Arc::clone(guilds.get(&id)?), loads }))
        };
        self.entries.note_puts(applied.changes.iter().filter_map(put));
    }
}

#[async_trait]
impl Records for NotingRecords {
    async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError> {
        let (loads, mut guilds) = (self.entries.loads(), BTreeMap::new());
        // A removed guild loses its members, also if it is put again.
        if batch.iter().all(|mutation| matches!(mutation, Mutation::Put(_))) {
            let put = |mutation: &Mutation| match mutation {
                Mutation::Put(Record::Guild(guild)) => Some((guild.id, Arc::new(guild.clone()))),
                _ => None,
            };
            guilds.extend(batch.iter().filter_map(put));
        }
        let applied = self.inner.apply(batch).await?;
        self.note(&applied, &guilds, loads);
        Ok(applied)
    }

    async fn find(&self, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        self.inner.find(key).await
    }

    async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError> {
        let (loads, mut guilds) = (self.entries.loads(), BTreeMap::new());
        let check = |numbered: &Numbered| {
            if let Record::Guild(guild) = &numbered.record
                && (guilds.len() < max_named(Kind::Guild) || guilds.contains_key(&guild.id))
            {
                guilds.insert(guild.id, Arc::new(guild.clone()));
            }
            Ok(())
        };
        let applied = self.inner.sync(replace, &mut CheckedSource { source, check }).await?;
        self.note(&applied, &guilds, loads);
        Ok(applied)
    }

    async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError> {
        self.inner.export(sink).await
    }

    async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError> {
        self.inner.about(user).await
    }

    async fn forget(&self, user: UserId) -> Result<Applied, StoreError> {
        self.inner.forget(user).await
    }
}

/// Sign-ins whose writes invalidate sessions and listings.
pub(crate) struct InvalidatingSignIns {
    pub(crate) inner: Arc<dyn SignIns>,
    pub(crate) sessions: Arc<CachedSessions>,
}

impl InvalidatingSignIns {
    /// Invalidates the ended sessions, or all sessions after an error, since it is unknown which have ended.
    fn invalidate(&self, user: UserId, ended: &Result<Option<Vec<Session>>, StoreError>) {
        match ended {
            Ok(ended) => self.sessions.invalidate_ended(ended.as_deref().unwrap_or_default()),
            Err(_) => self.sessions.entries.invalidate_kind(Kind::Session),
        }
        self.sessions.entries.invalidate([Key::User(user)]);
    }
}

#[async_trait]
impl SignIns for InvalidatingSignIns {
    async fn begin(
        &self,
        session: &Session,
        cap: NonZeroU32,
        ended: Cutoffs,
        grant: &GrantContent,
    ) -> Result<Vec<Session>, StoreError> {
        let ended = self.sessions.allow_for_lag(ended);
        let begun = self.inner.begin(session, cap, ended, grant).await;
        self.sessions.invalidate_ended(begun.as_deref().unwrap_or_default());
        self.sessions.entries.invalidate([Key::Session(session.id), Key::User(session.user)]);
        begun
    }

    async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError> {
        let ended = self.inner.end(user, version).await;
        self.invalidate(user, &ended);
        ended
    }

    async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError> {
        let ended = self.inner.end_without_grant(user).await;
        self.invalidate(user, &ended);
        ended
    }
}
