//! Ports: what the domain asks of the world, as object-safe traits.
//!
//! An adapter implements one or more of these traits and is handed to the use cases as `Arc<dyn Port>`. What holds
//! for all of them:
//!
//! - **Every method is one atomic operation.** It happens whole or not at all, also when its future is dropped
//!   halfway: whoever asks again finds either the state before or the state after.
//! - **An answer is a promise.** Once a writing method has returned `Ok`, every read that starts later sees the
//!   write, through this handle and every other of the same store. A durable store has it on disk by then.
//! - **Only a caching decorator may lag.** What was written through a handle is seen through it at once; what was written
//!   through another may be seen up to a second later, and then as of one moment wherever a method promises one. The
//!   outcome of a write never rests on a copy: whoever creates, claims, spends, ends or removes is told what is so.
//! - **Not found is `Ok(None)`** (or an empty list, or a [`Tally`](crate::change::Tally) of nothing): never an error.
//! - **An error says what kind of failure it was** and carries its source unseen. After an error of a write, nothing
//!   was written, except where the connection broke or the disk failed so late that nobody can know; repeating a write is
//!   harmless.
//! - **What cannot be read any more is left out.** Something that was stored under other rules, and is no value of the
//!   domain now, counts as absent: lists go on without it, a look-up finds nothing, and writing, removing and forgetting it
//!   work. The exceptions are a session and a grant that are asked for by themselves, which are
//!   [`Corrupt`](StoreErrorKind::Corrupt): nobody is let in or signed out on a guess. A grant with tokens whose list alone
//!   cannot be read is one without a list.
//! - **What is given back is what was put**, to the character, the microsecond and the bit: nothing is trimmed, folded,
//!   composed, rounded or cut. Absent and empty are not the same. Ids are compared whole, and by nothing but equality.
//! - **Numbers have no limit of the adapter's own.** What can be many comes whole, however many there are, unless the caller
//!   gives a limit; and then less than the limit means that there is no more.
//! - **Order is promised where a page says so.** A list comes in any order otherwise, and may come in another the next time;
//!   so does what is equal under the order that is promised.
//! - **Nothing blocks the thread that polls.** Whatever waits for a disk, a lock or a network waits elsewhere.
//! - **Writers record what they changed** for the [`ChangeFeed`], in the same atomic operation. A write that changed
//!   nothing records nothing. A port that reads from outside of the store cannot, so what it returns is never cached: see
//!   [`Stores`]. Spent codes are no [`Kind`](crate::change::Kind), and are not recorded.
//! - **Time and randomness are arguments**, never taken by the adapter itself.
//!
//! # Adding a port
//!
//! 1. Write the trait in a file of its own here, in domain types only, and document for each method what it
//!    promises: atomicity, order, and what an error means.
//! 2. Write its conformance suite in the test kit: one async function per promise.
//! 3. Implement it in the memory adapter, and break that implementation once per promise to see the suite notice.
//! 4. Take it as `Arc<dyn Port>` in the use case that needs it, and choose the adapter in the composition root.

mod change_feed;
mod error;
mod identity_provider;
mod listings;
mod platform;
mod reading;
mod records;
mod sessions;
mod stores;
mod system;
mod vault;

pub use self::{
    change_feed::{ChangeBatch, ChangeFeed, Subscriber},
    error::{Cause, StoreError, StoreErrorKind},
    identity_provider::{
        ClientMark, CodeExchange, IdentityError, IdentityErrorKind, IdentityProvider, NEEDED_SCOPES,
        Standing, UserWithGuilds, suffices,
    },
    listings::{Asked, GrantSummary, Listing, Listings},
    platform::{PlatformPause, PlatformPauses, SpentCodes},
    reading::{BlockList, BotTelemetry, FeedbackStore, GuildDirectory, TeamRoster},
    records::{
        ApplyError, Mutation, Numbered, Record, RecordSink, RecordSource, Records, RefusedLine, Replace,
        ShardSlice, SourceError, SyncError,
    },
    sessions::{ClaimAfter, Claimed, Grant, GrantContent, GrantStore, GrantVersion, SessionStore, SignIns},
    stores::{Ports, Stores},
    system::{Clock, Entropy, Health, Scheduler, Work},
    vault::{Opened, Sealed, Vault, VaultError},
};
pub use crate::model::GuildWithRoles;
