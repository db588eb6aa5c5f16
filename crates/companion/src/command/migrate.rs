//! `companion migrate`.

use super::{Failure, print, stored::with_storage};
use crate::configuration::Configuration;

pub(super) fn run(configuration: &Configuration) -> Result<(), Failure> {
    // Opening brings the schema up to date, or says why it cannot.
    with_storage(configuration, async |_| print("The database is up to date.\n"))
}
