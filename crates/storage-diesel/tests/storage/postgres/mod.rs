//! PostgreSQL.

mod announcements;
mod conformance;
mod failover;
mod faults;
mod lanes;
mod migrations;
mod moving;
mod proxy;
mod schema;
mod syncing;
mod uses;

crate::shared::shared_tests!(crate::postgres::schema::Schema);
