//! The most stale reader that the ports allow: a caching decorator around every storage port. A handle serves a copy of
//! the store, which it renews only after its own write and on settling. It must pass every suite, so no behaviour may
//! read through one handle what was written through another without settling in between.

use crate::conformance::proof::faults;
use async_trait::async_trait;
use companion_domain::{
    change::{Applied, Changes, Key, Revision},
    model::{
        CodeFingerprint, Feedback, FeedbackId, GuildId, Heartbeat, Notice, Period, TeamMember, Timestamp,
        UserId,
    },
    port::{
        ApplyError, BlockList, BotTelemetry, ChangeFeed, ChangeSettingsError, ClaimAfter, Claimed,
        ConfirmSettingsError, FeedbackStore, Grant, GrantContent, GrantStore, GrantVersion, GuildDirectory,
        GuildTotals, GuildWithRoles, Health, Listing, ListingScope, Listings, Mutation, Record, RecordSink,
        RecordSource, Records, Replace, SessionStore, SettingsStore, ShardSlice, SignIns, SpentCodes,
        StatusHistory, StoreError, SyncError, TeamRoster,
    },
    rules::Seed,
    session::{Cutoffs, Session, TokenHash, Uses},
    settings::{Change, HistoryEntry, Problem, Schema, Stored},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::conformance::{
    Fresh, Stores,
    stream::{Collected, Stream},
};
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::Mutex;

companion_testkit::storage_conformance! {
    handles(None)
}

/// Declares the two faults of each suite, by the behaviours that detect them.
macro_rules! caught {
    ($($module:ident$(.$port:ident)?: $late:ident, $own:ident;)+) => {
        faults! {
            fn proofs, enum Fault { NeverCatchesUp, OwnWritesLate }
            $($module(|fault| handles(Some(fault))$(.port(|stores| &stores.$port))?) {
                $late: [Fault::NeverCatchesUp] "a second handle never shows writes of the first";
                $own: [Fault::OwnWritesLate] "a handle shows its own writes late";
            })+
        }
    };
}

caught! {
    bot_telemetry: reports_are_stored_exactly, removes_a_silent_cluster_unless_it_has_reported_since;
    feedback_store: pages_contain_every_positive_entry_once_by_id, a_page_starts_after_an_id_whatever_has_changed;
    grant_store: a_grant_is_found_as_it_was_last_written, a_grant_is_found_as_it_was_last_written;
    guild_directory: returns_known_guilds_once, returns_only_the_roles_of_the_user;
    listings: every_part_of_a_listing_is_fresh, leaves_out_data_of_other_users;
    session_store:
        sessions_are_found_counted_and_listed_by_user_oldest_first, the_cap_evicts_ended_sessions_then_the_oldest;
    settings_store: returns_values_exactly_as_they_were_set, a_confirmation_never_lowers_and_repeats_nothing;
    sign_ins: a_sign_in_writes_the_session_and_replaces_the_grant, ends_only_the_current_version_of_a_grant;
    team_roster: each_replacement_is_shown_and_returns_its_tally, each_replacement_is_shown_and_returns_its_tally;
    records: a_sync_adds_every_kind_in_any_order, a_write_replaces_or_removes_one_record_and_returns_its_tally;
}

/// Returns two handles to one store. With a fault, they are more stale than allowed.
fn handles(fault: Option<Fault>) -> Fresh<Stores> {
    let store = MemoryStorage::new();
    let [one, other] = [(); 2].map(|()| Arc::new(Lagging::behind(&store, fault)));
    let both = [Arc::clone(&one), Arc::clone(&other)];
    Fresh::new(Arc::new(Stores::of(&one))).with_other(Arc::new(Stores::of(&other))).settling(move || {
        let deaf = fault == Some(Fault::NeverCatchesUp);
        both.iter().for_each(|handle| {
            handle.outdated.fetch_or(!deaf, Ordering::SeqCst);
        });
        std::future::ready(())
    })
}

struct Lagging {
    store: MemoryStorage,
    fault: Option<Fault>,
    outdated: AtomicBool,
    copy: Mutex<MemoryStorage>,
}

async fn copy_of(store: &MemoryStorage) -> Result<MemoryStorage, StoreError> {
    let (copy, mut exported) = (MemoryStorage::new(), Collected::default());
    store.export(&mut exported).await.map_err(StoreError::unavailable)?;
    let mut stream = Stream::of(exported.0);
    copy.sync(&Replace::default(), &mut stream).await.map_err(StoreError::unavailable)?;
    for report in store.clusters().await? {
        copy.write(Mutation::Report((*report).clone())).await.map_err(StoreError::unavailable)?;
    }
    Ok(copy)
}

impl Lagging {
    fn behind(store: &MemoryStorage, fault: Option<Fault>) -> Self {
        Self {
            store: store.clone(),
            fault,
            outdated: AtomicBool::new(false),
            copy: Mutex::new(MemoryStorage::new()),
        }
    }

    /// Returns the store that this handle reads from.
    async fn shown(&self) -> Result<MemoryStorage, StoreError> {
        let mut copy = self.copy.lock().await;
        if self.outdated.swap(false, Ordering::SeqCst) {
            *copy = copy_of(&self.store).await?;
        }
        Ok(copy.clone())
    }

    /// Returns the result of a write, and drops the copy.
    fn written<T>(&self, outcome: T) -> T {
        if self.fault != Some(Fault::OwnWritesLate) {
            self.outdated.store(true, Ordering::SeqCst);
        }
        outcome
    }
}

/// Implements every storage port.
macro_rules! lagging {
    ($($over:ident for $port:ident by $inner:ident {
        $(uncached $uncached:ident($($told:ident: $kind:ty),*) -> $result:ty;)*
        $(write $write:ident($($given:ident: $of:ty),*) -> $outcome:ty;)*
        $(read $read:ident($($asked:ident: $about:ty),*) -> $answer:ty;)*
    })+) => {$(
        #[async_trait]
        impl $port for Lagging {
            $(async fn $uncached(&self, $($told: $kind),*) -> $result {
                $port::$uncached(&self.store, $($told),*).await
            })*

            $(async fn $write(&self, $($given: $of),*) -> $outcome {
                self.written($port::$write(&self.store, $($given),*).await)
            })*

            $(async fn $read(&self, $($asked: $about),*) -> $answer {
                $port::$read(&self.shown().await?, $($asked),*).await
            })*
        }
    )+};
}

// Caches are kept up to date by the feed, so it is never cached itself.
companion_testkit::storage_ports!(lagging);
