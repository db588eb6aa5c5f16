//! The chat platform over OAuth 2.0: the identity-provider port, with outbound rate limits.
//!
//! This crate turns codes into tokens, and tokens into users and guilds. It protects this service and the platform:
//! every call has a deadline, a size limit and a slot in a bulkhead, follows no redirect, and is not sent while the
//! platform is down or asks to wait. Refusals are charged to the client or user that caused them before others are
//! affected. The crate must never know what is stored, or what is returned to which client. No token, code, secret or
//! response of the platform ever reaches an error or `Debug` output.
//!
//! | file | what it decides |
//! |---|---|
//! | `settings` | settings, their defaults, and which addresses are rejected |
//! | `provider` | the port: which calls make up each of its methods |
//! | `token_endpoint` | codes and refresh tokens, through the `oauth2` crate |
//! | `wire` | the platform's JSON, and its conversion to domain values |
//! | `client` | one request and its response: deadline, size, no redirect, no compression; errors without its content |
//! | `call_limiter` | whether a call may be sent, what is learnt from its response, and who is charged for a refusal |
//! | `limits`, `breaker`, `budget` | the rules of `call_limiter`, each a pure state machine |
//!
//! To extend it: another platform is another `wire`, chosen in `provider`; another rule for outbound calls is a state
//! machine beside the others and a line in `call_limiter`.
#![warn(missing_docs)]

mod breaker;
mod budget;
mod call_limiter;
mod client;
mod limits;
mod provider;
mod route;
mod settings;
mod token_endpoint;
mod wire;

pub use self::{
    breaker::{BreakerRules, BreakerState},
    budget::BudgetRules,
    client::platform_tls,
    provider::OauthIdentity,
    route::{Route, RouteStatistics, Statistics},
    settings::{Deadlines, Limits, Settings, SettingsError},
};
