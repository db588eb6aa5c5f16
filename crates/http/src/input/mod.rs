//! Reading JSON into domain types, with every mistake named by its place.
//!
//! A body is read whole: each wrong, missing or unknown field is noted, and only a body without a note becomes a
//! value. The domain's own types decide what is valid; this module only knows where things stand.

mod archive;
mod heartbeat;
mod line;
mod node;
mod record;
mod team;

pub use self::line::Accepted;
pub(crate) use self::{
    heartbeat::{LARGEST_HEARTBEAT, heartbeat},
    line::line,
    node::{Fields, MOST_PROBLEMS, Node, Notes, Path},
    record::{Key, feedback, guild, member, staff, subscription},
    team::{LARGEST_ROSTER, roster},
};
