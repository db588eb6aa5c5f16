//! Companion over HTTP: the five public endpoints and the management API, on actix-web.
//!
//! This crate knows paths, headers, status codes and JSON. It must never know an adapter: whatever it needs comes in
//! as a use case or a port of `companion-domain`, chosen by the composition root.
//!
//! | module | what lives there |
//! |---|---|
//! | `public` | one file for each public endpoint |
//! | `management` | what the operator and the bot talk to |
//! | `edge` | what every answer gets, whoever made it: envelope of errors, request id, CORS |
//! | `audit` | the trail of sign-ins, ends of sessions and changes |
//! | `metrics` | counters and times, in the text format of Prometheus |
//! | `repeated` | lines of the log that are counted instead of written over and over |
//! | `error` | everything that can go wrong, and the one table of codes, words and messages |
//! | `projection` | public answers kept in memory, ready to send |
//! | `wire` | the shapes of the JSON |
//! | `openapi` | the description of all that, made from the same code |
//! | `server` | listening and stopping |
//!
//! To add an endpoint: write its handler in a file of its own (it extracts, calls one use case and maps) and its shapes
//! in `wire`, and name it in `public::Endpoint` or `management::Endpoint`; the compiler then asks for its route and its
//! description. The tests compare the routes with the document, and real answers with its schemas.
#![warn(missing_docs)]

mod audit;
mod body;
mod client;
mod deadline;
mod edge;
mod envelope;
mod error;
mod headers;
mod management;
mod metrics;
mod openapi;
mod origin;
mod projection;
mod public;
mod repeated;
mod routing;
mod server;
mod wire;

pub use self::{
    client::TrustedProxies,
    error::ApiError,
    management::{ManagementApi, ManagementKeys, ManagementSettings, Readiness},
    metrics::{MetricsSource, MetricsText},
    openapi::openapi,
    origin::{Origin, Redirects},
    projection::Projections,
    public::{BuildInfo, PublicApi, PublicSettings, UseCases},
    server::{Listening, ServerLimits, serve_management, serve_public},
};
