//! The chat platform over OAuth 2.0: the identity-provider port, with outbound discipline.
//!
//! This crate turns codes into tokens, tokens into users and guilds, and never lets the platform hurt us: every call
//! has a deadline, a size limit and a slot in a bulkhead, follows no redirect, and stops going out while the platform
//! is down or says to wait. What the platform refuses is held against whoever caused it, before anyone else has to pay.
//! It must never know what is stored, or what is answered to whom. No token, code, secret or answer of the platform ever
//! reaches an error or a debugger.
//!
//! | file | what it decides |
//! |---|---|
//! | `settings` | what can be set, the numbers, and which addresses are refused |
//! | `provider` | the port: which calls make up each of its methods |
//! | `token_endpoint` | codes and refresh tokens, through the `oauth2` crate |
//! | `wire` | the platform's JSON, and what becomes of it |
//! | `client` | one request and its answer: deadline, size, no redirect, no compression |
//! | `gate` | whether a call may go out at all, and what is learnt from its answer |
//! | `limits`, `breaker`, `budget`, `charges` | the rules behind the gate, each a pure state machine |
//!
//! To extend it: another platform is another `wire`, chosen in `provider`; another rule of outbound discipline is a
//! state machine beside the others and a line in `gate`.
#![warn(missing_docs)]

mod breaker;
mod budget;
mod client;
mod failure;
mod gate;
#[cfg(test)]
mod hostile;
mod limits;
mod provider;
mod route;
mod settings;
mod shared_pause;
mod statistics;
mod token_endpoint;
mod wire;

pub use self::{
    breaker::{BreakerRules, BreakerState},
    budget::BudgetRules,
    client::platform_tls,
    provider::OauthIdentity,
    route::Route,
    settings::{Deadlines, Limits, Settings, SettingsError},
    statistics::{RouteStatistics, Statistics},
};
