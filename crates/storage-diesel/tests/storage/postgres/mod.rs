//! PostgreSQL.

mod announcements;
mod conformance;
mod failover;
mod faults;
mod lanes;
mod proxy;
mod schema;
mod tables;

crate::shared::shared_tests!(crate::postgres::schema::Schema);
