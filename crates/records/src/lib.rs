//! JSON records that the bot feeds and an export contains.
//!
//! Each record is described once, in the file of its subject: its key, its fields with their formats, and how it becomes
//! a value of the domain. From that follow parsing, with every invalid field named by its path; serialization;
//! newline-delimited JSON both ways; and the schemas of the OpenAPI document. This crate knows no HTTP and no storage.
//!
//! | module | contents, lowest layer first |
//! |---|---|
//! | `node` | a value in a JSON document with its path, and the errors found so far |
//! | `pattern` | regular expressions for text |
//! | [`Format`] | the JSON format of a value |
//! | `values` | the formats of the domain's values |
//! | [`Record`] | a JSON object with a key; the macro that describes one |
//! | `guild`, `team`, … | the records |
//! | `line` | the kinds of lines, each with its record |
//! | [`Lines`], [`write_line`] | newline-delimited JSON |
//!
//! To add a field, add a line to its record. To add a record, describe it in the file of its subject and add its kind to
//! `line`.
#![warn(missing_docs)]

mod format;
mod guild;
mod line;
mod lines;
mod node;
mod pattern;
mod people;
mod record;
mod report;
#[cfg(test)]
mod round_trip;
mod settings;
mod sign_in;
mod status_history;
mod team;
mod values;

pub use self::{
    format::Format,
    guild::*,
    line::{Accepted, KeyedRecord, LineRecord, SyncLine, schemas, write_line},
    lines::Lines,
    node::{FieldErrors, Fields, Node, Path},
    people::*,
    record::{Body, KeyPart, Keys, PathParts, Record, read_body, read_document},
    report::{ClusterReport, Report},
    settings::{
        MAX_SCHEMA_BYTES, SchemaRecord, SentSchema, SettingsConfirmation, SettingsEditRecord, SettingsRecord,
        read_schema,
    },
    sign_in::*,
    status_history::*,
    team::{Team, TeamMemberRecord},
    values::Snowflake,
};
