//! What the bot feeds and what an export holds, as JSON.
//!
//! Each record is described once, in a file of its own: its key, its fields with their formats, and how it becomes a value
//! of the domain. From that follow reading, with every mistake named by its place; writing; lines of newline-delimited
//! JSON both ways; and the schemas of the OpenAPI document. This crate knows no HTTP and no storage.
//!
//! | module | what lives there, the deepest first |
//! |---|---|
//! | `node` | a place in a JSON document, and the mistakes found so far |
//! | `pattern` | what text looks like, as regular expressions |
//! | [`Format`] | how one value stands in JSON |
//! | `values` | the formats of the domain's values |
//! | [`Record`] | a JSON object with a key; the macro that describes one |
//! | `guild`, `team`, … | the records |
//! | `line` | the kinds of lines, each with its record |
//! | [`Lines`], [`write_line`] | newline-delimited JSON |
//!
//! To add a field: give it a line in its record's file. To add a record: describe it in a file of its own, and name its
//! kind in `line`.
#![warn(missing_docs)]

mod feedback;
mod format;
mod grant;
mod guild;
mod line;
mod lines;
mod node;
mod pattern;
mod record;
mod report;
#[cfg(test)]
mod round_trip;
mod schemas;
mod session;
mod team;
mod user;
mod values;

pub use self::{
    feedback::FeedbackRecord,
    format::Format,
    grant::GrantRecord,
    guild::{GuildRecord, MemberRecord, SubscriptionRecord},
    line::{Accepted, KeyedRecord, LineRecord, SyncLine, write_line},
    lines::Lines,
    node::{Fields, Mistakes, Node, Path},
    record::{Body, KeyPart, Keys, PathParts, Record, read_body},
    report::{ClusterReport, Report},
    schemas::schemas,
    session::SessionRecord,
    team::{Team, TeamMemberRecord},
    user::{BlockedRecord, StaffRecord, UserRecord},
    values::Snowflake,
};
