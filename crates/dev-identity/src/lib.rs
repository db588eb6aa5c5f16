//! A real, small OAuth 2.0 server that looks like the chat platform, for development and tests.
//!
//! It signs sample users in, hands out codes and tokens, lists guilds in pages, serves pictures, and can be told to
//! fail in every way a platform can. It must never know Companion: it speaks the platform's HTTP and nothing else, and
//! it listens on loopback only, because whoever reaches it can sign in as anyone.
//!
//! | address | what is there |
//! |---|---|
//! | `/oauth2/authorize` | the page on which a person picks a sample user; `login_hint` skips it |
//! | `/callback` | a page that shows the code of a sign-in and what to do with it, where no site waits for it |
//! | `/api/v10/…` | the platform's API: tokens, revocation, the user, the guilds |
//! | `/cdn/…` | avatars, default avatars and icons |
//! | `/control/…` | what [`Control`] can do, as JSON, for tests in other processes |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use companion_dev_identity::{DevIdentity, Fault, Options, Route};
//!
//! let running = DevIdentity::start(std::net::TcpListener::bind("127.0.0.1:0")?, Options::default())?;
//! let control = running.control();
//! let _code = control.mint_code(control.users()[0].id);
//! control.fail_times(Route::User, Fault::Silent, 1);
//! # Ok(())
//! # }
//! ```
//!
//! To extend it: a new way to fail is a variant of [`Fault`] and an arm where faults are acted out; a new route is a
//! file in `routes`, a variant of [`Route`] and a line in the table of addresses.
#![warn(missing_docs)]

mod calls;
mod control;
mod control_http;
mod fault;
mod options;
mod picture;
mod platform;
mod rate_limit;
mod raw_connection;
mod route;
mod routes;
mod running;
mod sample;
mod state;

pub use self::{
    calls::UserCalls,
    control::{Control, Held},
    fault::{DripPart, ErrorBody, Fault, PlannedFault},
    options::{Options, RateLimit},
    platform::{Account, AccountGuild, Client, CodeTerms},
    route::Route,
    running::{Running, StartError},
};

/// Starts development identity providers.
#[derive(Debug)]
pub struct DevIdentity;

impl DevIdentity {
    /// Serves on this listener, on threads of its own, until it is stopped or dropped.
    ///
    /// # Errors
    /// Where the listener is not on loopback, or cannot be served.
    pub fn start(listener: std::net::TcpListener, options: Options) -> Result<Running, StartError> {
        Running::start(listener, options)
    }
}
