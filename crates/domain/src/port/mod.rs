//! Ports: what the domain needs from outside, as object-safe traits.
//!
//! An adapter implements one or more of these traits and is passed to the use cases as `Arc<dyn Port>`. All of them
//! share these rules:
//!
//! - **Every method is one atomic operation.** It takes effect completely or not at all, also if its future is
//!   dropped: a later call finds either the state before or the state after.
//! - **A returned write is visible.** Once a writing method has returned `Ok`, every read that starts later sees the
//!   write, through this handle and every other of the same store. A durable store has it on disk by then.
//! - **Only a caching decorator may lag.** A write through a handle is visible through it at once. A write through
//!   another handle may become visible up to a second later, and then atomically wherever a method promises a
//!   snapshot. The outcome of a write never depends on a cached value: a caller that creates, claims, spends, ends or
//!   removes gets the stored truth.
//! - **Not found is `Ok(None)`** (or an empty list, or a [`Tally`](crate::change::Tally) of zeros), never an error.
//! - **An error has a kind** and carries its source for the log. After a failed write nothing was written, unless the
//!   connection broke or the disk failed so late that the outcome is unknown. Repeating a write is harmless.
//! - **Unreadable data is left out.** A record that was stored under other rules and is no longer a valid value of
//!   the domain counts as absent: lists omit it, a lookup does not find it, and writing, removing and forgetting it
//!   work. The exceptions are a session, a grant and the settings of a guild that are looked up by their key,
//!   which are [`Corrupt`](StoreErrorKind::Corrupt): no user is let in or signed out on a guess, and no setting that an
//!   operator may still repair is overwritten. A grant with tokens whose list alone is unreadable is a grant without a
//!   list.
//! - **Values round-trip exactly**, to the character, the microsecond and the bit: nothing is trimmed, folded,
//!   normalised, rounded or truncated. Absent and empty differ. Ids are compared as a whole, by equality only.
//! - **Adapters have no limits of their own.** A result is complete, however large, unless the caller passes a limit;
//!   then fewer results than the limit mean that there are no more.
//! - **Order is promised only where documented.** Otherwise a list is in any order, which may differ between calls.
//!   So is the order of items that compare equal.
//! - **No method blocks the polling thread.** Waiting for a disk, a lock or a network happens elsewhere.
//! - **Writers record what they changed** for the [`ChangeFeed`], in the same atomic operation. A write without
//!   effect records nothing. A port that reads from outside of the store cannot record changes, so its results are
//!   never cached: see [`Stores`]. Spent codes are not a [`Kind`](crate::change::Kind), and are not recorded.
//! - **Time and randomness are arguments**, never obtained by the adapter itself.
//!
//! # Adding a port
//!
//! 1. Write the trait in the file of its subject here, in domain types only. Document for each method what it guarantees:
//!    atomicity, order, and what an error means.
//! 2. Write its conformance suite in the test kit: one async function per guarantee.
//! 3. Implement it in the memory adapter, and break that implementation once per guarantee to see the suite fail.
//! 4. Take it as `Arc<dyn Port>` in the use case that needs it, and choose the adapter in the composition root.

mod change_feed;
mod error;
mod identity_provider;
mod listings;
mod reading;
mod records;
mod sessions;
mod settings;
mod stores;
mod system;

pub use self::{
    change_feed::{ChangeBatch, ChangeFeed, Subscriber},
    error::{Cause, StoreError, StoreErrorKind},
    identity_provider::{
        ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, NEEDED_SCOPES,
        PlatformPause, PlatformPauses, Reputation, SpentCodes, UserWithGuilds, has_needed_scopes,
    },
    listings::{GrantSummary, Listing, ListingScope, Listings, Memo},
    reading::{
        BlockList, BotTelemetry, FeedbackStore, GuildDirectory, GuildTotals, StatusHistory, TeamRoster,
    },
    records::{
        ApplyError, CheckedSource, InvalidLineError, Mutation, Numbered, Record, RecordSink, RecordSource,
        Records, Replace, ShardSlice, SourceError, SyncError,
    },
    sessions::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, SessionStore, SignIns},
    settings::{ChangeSettingsError, ConfirmSettingsError, SettingsStore},
    stores::{Ports, Stores},
    system::{Clock, Entropy, Health, Opened, Scheduler, Sealed, Vault, VaultError, Work},
};
pub use crate::model::GuildWithRoles;
