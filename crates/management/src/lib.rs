//! Companion's management API over HTTP: what the operator and the bot talk to, on a listener of its own. The OpenAPI
//! document of both APIs and the reference page are here too.
//!
//! It puts its routes into the shell of `companion-http`, reads and shows the records of `companion-records`, and knows no
//! adapter: whatever it needs comes in as a use case or a port.
//!
//! | module | what lives there, the deepest first |
//! |---|---|
//! | `guesses`, `scope`, `access` | how fast keys may be tried; what a key can be for; the keys |
//! | `context` | what handlers work with |
//! | `request`, `query`, `replace` | reading requests |
//! | `change` | what every change does: audit, deadline, answer |
//! | `resource`, `keyed_records` | records that are put, looked up and removed under their key; which ones there are |
//! | `team`, `clusters`, `sync`, `change_stream`, `why`, `sessions`, `users`, `health`, `metrics` | one file for each other handler |
//! | `document` | the OpenAPI document of both APIs |
//! | `reference` | the document and its page, as they are served |
//! | `routes`, `api` | the table of paths; all of it as one application |
//!
//! To add a path: write its handler, with its description above it, in a file of its own; name it in `routes`, with the
//! scope that it needs, and in `document`. A record that is kept under a key needs no handler: implement `KeyedRecord` for it in `keyed_records`.
#![warn(missing_docs)]

mod access;
mod api;
mod change;
mod change_stream;
mod clusters;
mod context;
mod document;
mod explanation;
mod guesses;
mod health;
mod keyed_records;
mod live_session;
mod query;
mod reference;
mod replace;
mod request;
mod resource;
mod routes;
mod sessions;
mod stream;
mod sync;
mod team;
mod users;
mod why;

pub use self::{
    access::{ManagementKeys, Scope, ScopedKey},
    api::{ManagementApi, ManagementSettings, serve_management},
    context::{ManagementUseCases, Readiness},
    document::openapi,
};
