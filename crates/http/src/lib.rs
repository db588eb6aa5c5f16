//! Companion over HTTP: what every API shares, and the five public endpoints, on actix-web.
//!
//! This crate knows paths, headers, status codes and JSON. It must never know an adapter: whatever it needs comes in
//! as a use case or a port of `companion-domain`, chosen by the composition root.
//!
//! | module | what lives there, the deepest first |
//! |---|---|
//! | `repeated`, `client`, `origin` | lines of the log that are counted; who a request comes from |
//! | [`error`], [`envelope`] | everything that can go wrong, in one table; the form of all answers |
//! | [`headers`], [`body`], [`routing`], [`deadline`], [`Gate`] | reading requests, routing them, how long they may take, and how many may wait |
//! | [`event_stream`] | answers without an end |
//! | [`metrics`], `edge`, [`audit`] | what is counted; what every answer gets, whoever made it; the audit trail |
//! | [`openapi`] | what the OpenAPI document says of every operation |
//! | [`SignInAttempts`] | sign-ins: how many, how counted, how recorded |
//! | [`Tls`], [`Shell`], [`serve`] | all of that around one API, and listening |
//! | [`wire`], `projection` | the shapes of the public answers; those that are kept in memory, ready to send |
//! | `public` | one file for each public endpoint, with its description, and all of them as [`PublicDocument`] |
//!
//! To add an endpoint: write its handler in a file of its own (it extracts, calls one use case and maps) with its
//! description above it and its shapes in `wire`, and name it in `public::routes` and in [`PublicDocument`]. The tests
//! compare the routes with the document, and real answers with its schemas. Another API, as the management API is one, puts
//! its own routes into a [`Shell`].
#![warn(missing_docs)]

pub mod audit;
pub mod body;
mod build_info;
mod client;
pub mod deadline;
mod edge;
pub mod envelope;
pub mod error;
pub mod event_stream;
mod gate;
mod guard;
pub mod headers;
#[cfg(test)]
mod hostile;
pub mod metrics;
pub mod openapi;
mod origin;
mod projection;
mod public;
mod repeated;
mod request_id;
pub mod routing;
mod server;
mod session_use;
mod shell;
mod sign_ins;
mod tls;
pub mod wire;

pub use self::{
    audit::KeyName,
    build_info::BuildInfo,
    client::{Client, TrustedProxies},
    edge::{Edge, ErrorPages},
    error::ApiError,
    gate::{Gate, Waiting},
    guard::{ACCEPTED_AHEAD, ServerLimits},
    metrics::{MetricsSource, MetricsText},
    origin::{Origin, Redirects},
    projection::Projections,
    public::{PublicApi, PublicDocument, PublicSettings, PublicUseCases},
    server::{Listening, Socket, serve, serve_public},
    session_use::{audited_end, end_session, forget_user, guilds_of, session_of},
    shell::{Application, Shell, ShellSettings},
    sign_ins::{SentCode, SignInAttempts},
    tls::{Tls, TlsFlaw, TlsIdentity},
};
