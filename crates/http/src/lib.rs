//! HTTP layer of Companion on actix-web: what every API shares, and the five public endpoints.
//!
//! This crate knows paths, headers, status codes and JSON. It must never know an adapter: every dependency is a use
//! case or a port of `companion-domain`, chosen by the composition root.
//!
//! | module | contents, from the lowest layer up |
//! |---|---|
//! | `repeated`, `client`, `origin` | deduplicated log lines; the client address and web origin of a request |
//! | [`error`], [`envelope`] | the table of all errors; the JSON envelope |
//! | [`headers`], [`body`], [`routing`], [`deadline`], [`ConcurrencyLimiter`] | parsing and routing requests, their deadlines and concurrency limits |
//! | [`event_stream`] | server-sent events |
//! | [`metrics`], [`audit`], [`Shell`] | metrics; the audit trail; the outermost middleware and all else around one API |
//! | [`openapi`] | parts of the OpenAPI document that all operations share |
//! | [`SignInAttempts`] | sign-in: limits, metrics and audit |
//! | [`Tls`], [`serve`] | TLS and the server |
//! | [`wire`], `projection` | JSON shapes of public responses; responses rendered in advance |
//! | `public` | one file per public endpoint with its OpenAPI description, collected in [`PublicDocument`] |
//!
//! To add an endpoint, write its handler in its own file: it extracts, calls one use case and maps the result. Put its
//! OpenAPI description above it and its shapes into `wire`, then list it in `public::ROUTES` and in [`PublicDocument`].
//! Tests compare the routes with the document, and real responses with its schemas. Another API, such as the management
//! API, puts its own routes into a [`Shell`].
#![warn(missing_docs)]

pub mod audit;
pub mod body;
mod client;
mod concurrency;
pub mod deadline;
mod edge;
pub mod envelope;
pub mod error;
pub mod event_stream;
mod guard;
pub mod headers;
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
pub mod settings;
mod sign_ins;
mod tls;
pub mod wire;

pub use self::{
    audit::KeyName,
    client::{Client, TrustedProxies},
    concurrency::{ConcurrencyLimiter, ConcurrencyPermit},
    edge::{Application, ErrorPages, Shell, ShellSettings},
    error::ApiError,
    guard::{MAX_EXCESS_CONNECTIONS, ServerLimits},
    metrics::{MetricsSource, MetricsText},
    origin::{Origin, Redirects},
    projection::Projections,
    public::{PublicApi, PublicDocument, PublicSettings},
    server::{RunningServer, Socket, serve, serve_public},
    session_use::{audited_end, end_session, forget_user, guilds_of, session_of, shown_settings_of},
    sign_ins::{SentCode, SignInAttempts},
    tls::{Tls, TlsError, TlsIdentity},
    wire::{BuildInfo, Commit},
};
