//! Every storage port of Companion in memory, and an in-memory identity provider.
//!
//! [`MemoryStorage`] is a working adapter: it backs `storage.url = "memory:"` and most tests. It keeps every promise of
//! the ports except durability: its data ends with the process. It must never know its callers, the time or the format
//! of a token, and it never waits while it holds its lock.
//!
//! There is one state behind one lock. Imports run downwards only:
//!
//! ```text
//! port                   one thin implementation of each port
//! records                records of the bot: batches, streams, exports, forgetting a user
//! state                  the lock over all data
//! tables                 all records by their key, an index of what they name, and what is no record
//! history, spent_codes   the changes of all writes; codes that have been used
//! ```
//!
//! A new kind of record about a user needs an arm in `names` of `tables.rs`, and one that is read by its type
//! a line in `contents!` there. The compiler requires neither; the conformance suites fail. Other data is a field of
//! `Tables`. A write notes every change in the journal that it receives; the history and the waking
//! of readers follow from that.
//!
//! [`MemoryIdentity`] replaces the chat platform, with users, codes and tokens that behave like the real ones.
#![warn(missing_docs)]

mod history;
mod identity;
mod port;
mod records;
mod spent_codes;
mod state;
mod tables;

pub use self::{
    identity::{CodeTerms, Held, IdentityCall, MemoryIdentity},
    state::MemoryStorage,
};
