//! PostgreSQL.

mod announcements;
mod conformance;
mod failover;
mod faults;
mod lanes;
mod moving;
mod proxy;
mod schema;
mod tables;
mod uses;

crate::shared::shared_tests!(crate::postgres::schema::Schema);
