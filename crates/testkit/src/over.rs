//! Ports over other ports: a test overrides some methods, and the rest is forwarded.
//!
//! `impl SessionStoreOver for Mine` names the inner port and overrides any of its methods; `Over(mine)` is then a
//! `SessionStore`. [`before`](SessionStoreOver::before) runs before each forwarded method, and may fail it;
//! [`after`](SessionStoreOver::after) runs before the method returns.

use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Changes, Key, Revision},
    model::{
        CodeFingerprint, Feedback, FeedbackId, GuildId, GuildWithRoles, Heartbeat, TeamMember, Timestamp,
        UserId,
    },
    port::{
        ApplyError, BlockList, BotTelemetry, ChangeFeed, ChangeSettingsError, ClaimAfter, Claimed,
        ConfirmSettingsError, FeedbackStore, Grant, GrantContent, GrantStore, GrantVersion, GuildDirectory,
        GuildTotals, Listing, ListingScope, Listings, Mutation, Record, RecordSink, RecordSource, Records,
        Replace, SessionStore, SettingsStore, ShardSlice, SignIns, SpentCodes, StoreError, SyncError,
        TeamRoster,
    },
    rules::Seed,
    session::{Cutoffs, Session, TokenHash, Uses},
    settings::{Change, HistoryEntry, Problem, Schema, Stored},
};
use std::{num::NonZeroU32, ops::Deref, sync::Arc};

/// Implements a port by a value that overrides some of its methods.
pub struct Over<T>(
    /// The value that overrides them.
    pub T,
);

impl<T> Deref for Over<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

macro_rules! over {
    ($(
        $over:ident for $port:ident by $inner:ident {
            $(async fn $method:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)+
        }
    )+) => {$(
        #[doc = concat!("Overrides methods of a [`", stringify!($port), "`].")]
        #[async_trait]
        pub trait $over: Send + Sync {
            /// Returns the inner port.
            fn $inner(&self) -> &dyn $port;

            /// Runs before each forwarded method, which fails if this does.
            async fn before(&self) -> Result<(), StoreError> {
                Ok(())
            }

            /// Runs after each forwarded method.
            async fn after(&self) {}

            $(
                #[expect(missing_docs, reason = "documented at the port")]
                async fn $method(&self $(, $argument: $type)*) -> $result {
                    self.before().await?;
                    let done = self.$inner().$method($($argument),*).await;
                    self.after().await;
                    done
                }
            )+
        }

        #[async_trait]
        impl<T: $over> $over for Arc<T> {
            fn $inner(&self) -> &dyn $port {
                (**self).$inner()
            }

            $(async fn $method(&self $(, $argument: $type)*) -> $result {
                (**self).$method($($argument),*).await
            })+
        }

        #[async_trait]
        impl<T: $over> $port for Over<T> {
            $(async fn $method(&self $(, $argument: $type)*) -> $result {
                self.0.$method($($argument),*).await
            })+
        }
    )+};
}

over! {
    BlockListOver for BlockList by blocked {
        async fn is_blocked(&self, user: UserId) -> Result<bool, StoreError>;
    }
    BotTelemetryOver for BotTelemetry by telemetry {
        async fn clusters(&self) -> Result<Vec<Arc<Heartbeat>>, StoreError>;
    }
    ChangeFeedOver for ChangeFeed by changes {
        async fn latest(&self) -> Result<Revision, StoreError>;
        async fn since(&self, revision: Revision) -> Result<Changes, StoreError>;
    }
    FeedbackStoreOver for FeedbackStore by feedback {
        async fn pick_positive(&self, count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError>;
        async fn positive_after(&self, after: Option<&FeedbackId>, most: NonZeroU32) -> Result<Vec<Arc<Feedback>>, StoreError>;
        async fn find(&self, id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;
    }
    GrantStoreOver for GrantStore by grants {
        async fn replace(&self, user: UserId, content: &GrantContent) -> Result<GrantVersion, StoreError>;
        async fn find(&self, user: UserId) -> Result<Option<Grant>, StoreError>;
        async fn claim_refresh(&self, user: UserId, version: GrantVersion, until: Timestamp, dead: Option<Timestamp>) -> Result<Claimed, StoreError>;
        async fn release_claim(&self, user: UserId, version: GrantVersion) -> Result<(), StoreError>;
        async fn update(&self, user: UserId, version: GrantVersion, content: &GrantContent, claim: ClaimAfter) -> Result<GrantVersion, StoreError>;
        async fn remove(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError>;
        async fn remove_unused(&self, user: UserId, version: GrantVersion) -> Result<bool, StoreError>;
        async fn holders(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
        async fn unused(&self, after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
    }
    GuildDirectoryOver for GuildDirectory by guilds {
        async fn with_roles(&self, user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError>;
        async fn totals(&self) -> Result<Option<GuildTotals>, StoreError>;
    }
    ListingsOver for Listings by listings {
        async fn read(&self, user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError>;
        async fn read_many(&self, users: &[UserId]) -> Result<Vec<Arc<Listing>>, StoreError>;
    }
    RecordsOver for Records by records {
        async fn apply(&self, batch: Vec<Mutation>) -> Result<Applied, ApplyError>;
        async fn find(&self, key: &Key) -> Result<Option<Record>, StoreError>;
        async fn sync(&self, replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError>;
        async fn export(&self, sink: &mut dyn RecordSink) -> Result<(), SyncError>;
        async fn about(&self, user: UserId) -> Result<Vec<Record>, StoreError>;
        async fn forget(&self, user: UserId) -> Result<Applied, StoreError>;
    }
    SessionStoreOver for SessionStore by sessions {
        async fn create(&self, session: &Session, cap: NonZeroU32, ended: Cutoffs) -> Result<Vec<Session>, StoreError>;
        async fn find(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;
        async fn touch(&self, seen: Uses<'_>) -> Result<(), StoreError>;
        async fn of_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;
        async fn count(&self) -> Result<Option<u64>, StoreError>;
        async fn revoke(&self, id: &TokenHash) -> Result<Option<Session>, StoreError>;
        async fn expire(&self, id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError>;
        async fn revoke_user(&self, user: UserId) -> Result<Vec<Session>, StoreError>;
        async fn prune(&self, ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError>;
        async fn rewind(&self, now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError>;
    }
    SettingsStoreOver for SettingsStore by settings {
        async fn schema(&self) -> Result<Option<Arc<Schema>>, StoreError>;
        async fn publish(&self, schema: &Schema) -> Result<Applied, StoreError>;
        async fn find(&self, guild: GuildId) -> Result<Stored, StoreError>;
        async fn change(&self, change: &Change) -> Result<(Stored, Applied), ChangeSettingsError>;
        async fn confirm(&self, guild: GuildId, revision: u64, problems: &[Problem]) -> Result<Applied, ConfirmSettingsError>;
        async fn history(&self, guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError>;
        async fn remove(&self, guild: GuildId) -> Result<Applied, StoreError>;
        async fn page(&self, slice: Option<ShardSlice>, after: Option<GuildId>, limit: NonZeroU32) -> Result<Vec<(GuildId, Stored)>, StoreError>;
    }
    SignInsOver for SignIns by sign_ins {
        async fn begin(&self, session: &Session, cap: NonZeroU32, ended: Cutoffs, grant: &GrantContent) -> Result<Vec<Session>, StoreError>;
        async fn end(&self, user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError>;
        async fn end_without_grant(&self, user: UserId) -> Result<Option<Vec<Session>>, StoreError>;
    }
    SpentCodesOver for SpentCodes by spent_codes {
        async fn spend(&self, code: &CodeFingerprint, now: Timestamp, until: Timestamp) -> Result<bool, StoreError>;
        async fn restore(&self, code: &CodeFingerprint) -> Result<(), StoreError>;
    }
    TeamRosterOver for TeamRoster by team {
        async fn all(&self) -> Result<Arc<[TeamMember]>, StoreError>;
    }
}
