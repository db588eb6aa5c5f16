//! Ports over other ports: a test overrides some methods, and the rest is forwarded.
//!
//! `impl SessionStoreOver for Mine` names the inner port and overrides any of its methods; `Over(mine)` is then a
//! `SessionStore`. [`before`](SessionStoreOver::before) runs before each forwarded method, and may fail it;
//! [`after`](SessionStoreOver::after) runs before the method returns.

use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Changes, Key, Revision},
    model::{
        CodeFingerprint, Feedback, FeedbackId, GuildId, GuildWithRoles, Heartbeat, Notice, Period,
        TeamMember, Timestamp, UserId,
    },
    port::{
        ApplyError, BlockList, BotTelemetry, ChangeFeed, ChangeSettingsError, ClaimAfter, Claimed,
        ConfirmSettingsError, FeedbackStore, Grant, GrantContent, GrantStore, GrantVersion, GuildDirectory,
        GuildTotals, Health, Listing, ListingScope, Listings, Mutation, Record, RecordSink, RecordSource,
        Records, Replace, SessionStore, SettingsStore, ShardSlice, SignIns, SpentCodes, StatusHistory,
        StoreError, SyncError, TeamRoster,
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
            $($mode:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)+
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
        impl<T: $over> $port for Over<T> {
            $(async fn $method(&self $(, $argument: $type)*) -> $result {
                self.0.$method($($argument),*).await
            })+
        }
    )+};
}

/// Calls the macro `$expand` with every storage port: its methods are not cached by any decorator, write, or read.
#[doc(hidden)]
#[macro_export]
macro_rules! storage_ports {
    ($expand:ident) => {
        $expand! {
            BlockListOver for BlockList by blocked {
                read is_blocked(user: UserId) -> Result<bool, StoreError>;
            }
            BotTelemetryOver for BotTelemetry by telemetry {
                read clusters() -> Result<Vec<Arc<Heartbeat>>, StoreError>;
            }
            ChangeFeedOver for ChangeFeed by changes {
                uncached latest() -> Result<Revision, StoreError>;
                uncached since(revision: Revision) -> Result<Changes, StoreError>;
            }
            FeedbackStoreOver for FeedbackStore by feedback {
                read pick_positive(count: usize, seed: Seed) -> Result<Vec<Arc<Feedback>>, StoreError>;
                read positive_after(after: Option<&FeedbackId>, most: NonZeroU32) -> Result<Vec<Arc<Feedback>>, StoreError>;
                read find(id: &FeedbackId) -> Result<Option<Arc<Feedback>>, StoreError>;
            }
            GrantStoreOver for GrantStore by grants {
                write claim_refresh(user: UserId, version: GrantVersion, until: Timestamp, dead: Option<Timestamp>) -> Result<Claimed, StoreError>;
                write release_claim(user: UserId, version: GrantVersion) -> Result<(), StoreError>;
                write update(user: UserId, version: GrantVersion, content: &GrantContent, claim: ClaimAfter) -> Result<GrantVersion, StoreError>;
                write remove_unused(user: UserId, version: GrantVersion) -> Result<bool, StoreError>;
                read find(user: UserId) -> Result<Option<Grant>, StoreError>;
                read holders(after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
                read unused(after: Option<UserId>, limit: NonZeroU32) -> Result<Vec<UserId>, StoreError>;
            }
            GuildDirectoryOver for GuildDirectory by guilds {
                read with_roles(user: UserId, guilds: &[GuildId]) -> Result<Vec<GuildWithRoles>, StoreError>;
                read totals() -> Result<Option<GuildTotals>, StoreError>;
            }
            HealthOver for Health by health {
                uncached check() -> Result<(), StoreError>;
            }
            ListingsOver for Listings by listings {
                read read(user: UserId, asked: ListingScope) -> Result<Arc<Listing>, StoreError>;
            }
            RecordsOver for Records by records {
                write apply(batch: Vec<Mutation>) -> Result<Applied, ApplyError>;
                write sync(replace: &Replace, source: &mut dyn RecordSource) -> Result<Applied, SyncError>;
                write forget(user: UserId) -> Result<Applied, StoreError>;
                read find(key: &Key) -> Result<Option<Record>, StoreError>;
                read export(sink: &mut dyn RecordSink) -> Result<(), SyncError>;
                read about(user: UserId) -> Result<Vec<Record>, StoreError>;
            }
            SessionStoreOver for SessionStore by sessions {
                write touch(seen: Uses<'_>) -> Result<(), StoreError>;
                write revoke(id: &TokenHash) -> Result<Option<Session>, StoreError>;
                write expire(id: &TokenHash, ended: Cutoffs) -> Result<Option<Session>, StoreError>;
                write revoke_user(user: UserId) -> Result<Vec<Session>, StoreError>;
                write prune(ended: Cutoffs, limit: NonZeroU32) -> Result<Vec<Session>, StoreError>;
                write rewind(now: Timestamp, limit: NonZeroU32) -> Result<u64, StoreError>;
                read find(id: &TokenHash) -> Result<Option<Session>, StoreError>;
                read of_user(user: UserId) -> Result<Vec<Session>, StoreError>;
                read count() -> Result<Option<u64>, StoreError>;
            }
            SettingsStoreOver for SettingsStore by settings {
                write publish(schema: &Schema) -> Result<Applied, StoreError>;
                write change(change: &Change) -> Result<(Stored, Applied), ChangeSettingsError>;
                write confirm(guild: GuildId, revision: u64, problems: &[Problem]) -> Result<Applied, ConfirmSettingsError>;
                write remove(guild: GuildId) -> Result<Applied, StoreError>;
                read schema() -> Result<Option<Arc<Schema>>, StoreError>;
                read find(guild: GuildId) -> Result<Stored, StoreError>;
                read history(guild: GuildId) -> Result<Vec<HistoryEntry>, StoreError>;
                read page(slice: Option<ShardSlice>, after: Option<GuildId>, limit: NonZeroU32) -> Result<Vec<(GuildId, Stored)>, StoreError>;
            }
            SignInsOver for SignIns by sign_ins {
                write begin(session: &Session, cap: NonZeroU32, ended: Cutoffs, grant: &GrantContent) -> Result<Vec<Session>, StoreError>;
                write end(user: UserId, version: GrantVersion) -> Result<Option<Vec<Session>>, StoreError>;
                write end_without_grant(user: UserId) -> Result<Option<Vec<Session>>, StoreError>;
            }
            SpentCodesOver for SpentCodes by spent_codes {
                write spend(code: &CodeFingerprint, now: Timestamp, until: Timestamp) -> Result<bool, StoreError>;
                write restore(code: &CodeFingerprint) -> Result<(), StoreError>;
            }
            StatusHistoryOver for StatusHistory by status_history {
                read periods() -> Result<Vec<Period>, StoreError>;
                read notices() -> Result<Vec<Notice>, StoreError>;
            }
            TeamRosterOver for TeamRoster by team {
                read all() -> Result<Arc<[TeamMember]>, StoreError>;
            }
        }
    };
}

storage_ports!(over);
