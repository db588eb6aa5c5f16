//! Every storage port of Companion in memory, and an identity provider that lives there too.
//!
//! [`MemoryStorage`] is a working adapter: it backs `storage.url = "memory:"` and is what tests run on. It keeps every
//! promise of the ports but one that memory cannot keep: what it holds ends with the process. It must never know who
//! calls it, what time it is or what a token looks like, and it never waits while it holds its lock.
//!
//! There is one state behind one lock. A port is a file with two halves: a table, which is plain data with plain
//! methods, and the port's trait over it. To add one, write its table, give it a field in `state.rs`, and note every
//! change in the journal that a write is handed; the history and the waking of readers follow from that. If a sync
//! carries it, give it a place in `world/staging.rs` and `world/apply.rs` too.
//!
//! [`MemoryIdentity`] stands in for the chat platform, with users, codes and tokens that behave like the real ones.
#![warn(missing_docs)]

mod block_list;
mod feedback;
mod grants;
mod guilds;
mod health;
mod history;
mod identity;
mod journal;
mod sessions;
mod sign_ins;
mod spent_codes;
mod staff;
mod state;
mod subscriptions;
mod table;
mod team;
mod telemetry;
mod world;

pub use self::{
    identity::{CodeTerms, Held, IdentityCall, MemoryIdentity},
    state::MemoryStorage,
};
