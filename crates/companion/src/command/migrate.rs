//! `companion migrate`.

use super::{failure::Failure, output::print, stored::with_storage_made};
use crate::configuration::Configuration;

pub(super) fn run(configuration: &Configuration, create: bool) -> Result<(), Failure> {
    // Opening brings the schema up to date, or says why it cannot.
    with_storage_made(configuration, create, async |_| print("The database is up to date.\n"))
}
