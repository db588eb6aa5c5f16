//! The ports, one file each.

mod block_list;
pub(crate) mod bot_telemetry;
mod change_feed;
pub(crate) mod feedback;
mod grants;
mod guilds;
mod health;
mod sessions;
mod sign_ins;
mod spent_codes;
mod staff;
mod subscriptions;
mod team;
mod world;

use companion_domain::change::Tally;

/// How many values one statement compares with. Databases limit it, and a longer list gains nothing.
pub(crate) const AT_ONCE: usize = 500;

/// What removing so many rows of one thing each did.
pub(crate) const fn removed(rows: usize) -> Tally {
    Tally { removed: rows as u64, ..Tally::NOTHING }
}
