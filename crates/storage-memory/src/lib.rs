//! Every storage port of Companion in memory, and an in-memory identity provider.
//!
//! [`MemoryStorage`] is a working adapter: it backs `storage.url = "memory:"` and most tests. It keeps every promise of
//! the ports except durability: its data ends with the process. It must never know its callers, the time or the format
//! of a token, and it never waits while it holds its lock.
//!
//! There is one state behind one lock. Imports run downwards only:
//!
//! ```text
//! port      one thin implementation of each port
//! records   records of the bot: batches, streams, exports, forgetting a user
//! state     all tables, the history of their changes, and the lock
//! table     one file for each table that is more than a map
//! keyed     what tables of one key and one value have in common
//! journal   the changes of one write, and secondary indexes
//! ```
//!
//! To add a table, give it a field in `state.rs`: a `Rows` if a map is enough, otherwise a file in `table`. A write
//! notes every change in the journal that it receives; the history and the waking of readers follow from that. If the
//! bot feeds the table, the compiler points to the matches in `records.rs` that lack it.
//!
//! [`MemoryIdentity`] replaces the chat platform, with users, codes and tokens that behave like the real ones.
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
