//! Rights are right: who is shown which guild, as what, and from when on.
//!
//! Each test runs the whole program in this process: a SQLite file, the OAuth adapter against a real server on
//! loopback, the world fed through the management API, and the clocks of both sides in the test's hand.

mod age;
mod bound_roles;
mod grants;
mod guild;
mod membership;
mod named;
mod platform_rights;
mod stage;
mod without_tokens;
