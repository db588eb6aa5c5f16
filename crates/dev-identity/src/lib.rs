//! A small but real OAuth 2.0 server that behaves like the chat platform, for development and tests.
//!
//! It signs sample users in, issues codes and tokens, lists guilds in pages, serves pictures, and fails on demand in
//! every way a platform can. It must not know Companion: it implements only the platform's HTTP interface. It listens
//! on loopback only, because any client that reaches it can sign in as any user.
//!
//! | address | purpose |
//! |---|---|
//! | `/oauth2/authorize` | the page on which a sample user is picked; `login_hint` skips it |
//! | `/callback` | shows the code of a sign-in and how to use it, if no website handles the redirect |
//! | `/api/v10/…` | the platform's API: tokens, revocation, the user, the guilds |
//! | `/cdn/…` | avatars, default avatars and icons |
//! | `/control/…` | codes and faults of [`Control`] as JSON, for tests in other processes |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use companion_dev_identity::{DevIdentity, Fault, Options, Route};
//!
//! let running = DevIdentity::start(std::net::TcpListener::bind("127.0.0.1:0")?, Options::default())?;
//! let control = running.control();
//! let _code = control.mint_code(190_000_000_000_000_007);
//! control.fail_times(Route::User, Fault::Silent, 1);
//! # Ok(())
//! # }
//! ```
//!
//! To extend it: a new fault is a variant of [`Fault`] and an arm of `respond_with`; a new route is a function
//! in `routes/api.rs`, a variant of [`Route`] and a line in the routing table.
#![warn(missing_docs)]

mod control;
mod fault;
mod options;
mod picture;
mod platform;
mod rate_limit;
mod routes;
mod running;
mod state;

pub use self::{
    control::{Control, Held},
    fault::{DripPart, ErrorBody, Fault},
    options::{Options, RateLimit, Route},
    platform::{Account, AccountGuild, Client, CodeTerms},
    running::{DevIdentity, Running, StartError},
    state::UserCalls,
};
