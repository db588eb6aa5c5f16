//! Every storage port of Companion in memory, and an identity provider that lives there too.
//!
//! [`MemoryStorage`] is a working adapter: it backs `storage.url = "memory:"` and is what tests run on. It keeps every
//! promise of the ports but one that memory cannot keep: what it holds ends with the process. It must never know who
//! calls it, what time it is or what a token looks like, and it never waits while it holds its lock.
//!
//! There is one state behind one lock. Imports run downwards only:
//!
//! ```text
//! port      one thin implementation of each port
//! records   what the bot feeds: batches, streams, exports, forgetting a user
//! state     all tables, the history of what happened to them, and the lock
//! table     one file for each table that is more than a map
//! keyed     what tables of one key and one value have in common
//! index     finding rows by something else than their key
//! journal   what one write changed
//! ```
//!
//! To add a table, give it a field in `state.rs`: a `Rows` where a map is enough, else a file in `table`. Every change is
//! noted in the journal that a write is handed; the history and the waking of readers follow from that. If the bot feeds
//! it, the compiler names the matches in `records.rs` that lack it.
//!
//! [`MemoryIdentity`] stands in for the chat platform, with users, codes and tokens that behave like the real ones.
#![warn(missing_docs)]

mod identity;
mod journal;
mod keyed;
mod port;
mod records;
mod state;
mod table;

pub use self::{
    identity::{CodeTerms, Held, IdentityCall, MemoryIdentity},
    state::MemoryStorage,
};
