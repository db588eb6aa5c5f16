//! Both databases have the same steps, and what they create is known.

use super::migration::{CURRENT, DIGEST, STEPS, digest, objects};
use crate::migration::Steps;
use diesel::{Connection, PgConnection, connection::SimpleConnection, pg::Pg};
use diesel_migrations::MigrationHarness;

#[test]
fn the_digest_is_that_of_what_the_steps_create() {
    let mut connection = PgConnection::establish(&std::env::var(xtask::postgres::VARIABLE).unwrap()).unwrap();
    // Gone with the connection.
    connection.batch_execute("BEGIN; CREATE SCHEMA digested; SET search_path = digested").unwrap();
    connection.run_pending_migrations(STEPS).unwrap();
    let digest = digest(&objects(&mut connection, CURRENT).unwrap());
    assert_eq!(digest, DIGEST, "write this down: {digest:#x}");
}

#[cfg(feature = "sqlite")]
#[test]
fn both_databases_have_steps_of_the_same_names() {
    let sqlite = Steps::of::<diesel::sqlite::Sqlite>(&crate::sqlite::migration::STEPS).lacking(&[]);
    assert!(!sqlite.is_empty());
    assert_eq!(Steps::of::<Pg>(&STEPS).lacking(&[]), sqlite);
}
