//! Both databases have the same steps, and the steps make what is listed.

use super::migration::{STEPS, described, made};
use crate::migration::Steps;
use diesel::{Connection, PgConnection, pg::Pg};

#[cfg(feature = "sqlite")]
#[test]
fn both_databases_have_steps_of_the_same_names() {
    let sqlite = Steps::of::<diesel::sqlite::Sqlite>(&crate::sqlite::migration::STEPS).lacking(&[]);
    assert!(!sqlite.is_empty());
    assert_eq!(Steps::of::<Pg>(&STEPS).lacking(&[]), sqlite);
}

#[test]
fn the_listed_objects_are_those_that_the_steps_make() {
    let mut connection = PgConnection::establish(&std::env::var(xtask::postgres::VARIABLE).unwrap()).unwrap();
    let made = connection.test_transaction(|connection| made(connection).map_err(|_| ()));
    let (mut listed, mut made) = (described(), made);
    for objects in [&mut listed, &mut made] {
        objects.sort_by(|one, other| (&one.kind, &one.name).cmp(&(&other.kind, &other.name)));
    }
    assert_eq!(listed, made);
}
