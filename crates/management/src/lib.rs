//! Companion's management API over HTTP, for the operator and the bot, on its own listener. The OpenAPI document of
//! both APIs and its reference page are here too.
//!
//! It puts its routes into the shell of `companion-http`, parses and renders the records of `companion-records`, and
//! knows no adapter: every dependency is a use case or a port.
//!
//! | module | contents, from the lowest layer up |
//! |---|---|
//! | `access` | keys and scopes; rate limit of wrong keys |
//! | `request` | parsing requests; what every read and change does: audit, deadline, response |
//! | `resource`, `keyed_records` | handlers for records under a key; the kinds of such records |
//! | `reports`, `sync`, `settings`, `change_stream`, `why`, `people`, `health` | other handlers, by subject |
//! | `document` | the OpenAPI document of both APIs |
//! | `reference` | serves the document and its page |
//! | `routes`, `api` | the table of paths; the application, and the context of its handlers |
//!
//! To add a path, write its handler in the file of its subject, with its OpenAPI description above it. List it in `routes`
//! with its scope, and in `document`. A record under a key needs no handler: list it in `fed!` of `keyed_records`.
#![warn(missing_docs)]

mod access;
mod api;
mod change_stream;
mod document;
mod health;
mod keyed_records;
mod people;
mod reference;
mod reports;
mod request;
mod resource;
mod routes;
mod settings;
mod sync;
mod why;

pub use self::{
    access::{ManagementKeys, Scope, ScopedKey},
    api::{ManagementApi, ManagementSettings, Readiness, serve_management},
    document::openapi,
};
