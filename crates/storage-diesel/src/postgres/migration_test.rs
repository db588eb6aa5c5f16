//! Both databases have the same steps.

use super::migration::STEPS;
use crate::migration::Steps;
use diesel::pg::Pg;

#[cfg(feature = "sqlite")]
#[test]
fn both_databases_have_steps_of_the_same_names() {
    let sqlite = Steps::of::<diesel::sqlite::Sqlite>(&crate::sqlite::migration::STEPS).lacking(&[]);
    assert!(!sqlite.is_empty());
    assert_eq!(Steps::of::<Pg>(&STEPS).lacking(&[]), sqlite);
}
