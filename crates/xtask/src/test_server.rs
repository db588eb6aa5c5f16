//! Which PostgreSQL server the tests get.

use xtask::postgres::is_given;

use crate::requirement::{MissingTools, POSTGRESQL};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TestServer {
    /// The caller's: its URL is in the environment already.
    Given,
    /// One that is started for them.
    Own,
    /// None, so that the tests that need one are left out.
    Missing,
}

impl TestServer {
    pub(crate) fn of_this_machine(missing: &MissingTools) -> Self {
        match (is_given(), missing.includes(&POSTGRESQL)) {
            (true, _) => Self::Given,
            (false, false) => Self::Own,
            (false, true) => Self::Missing,
        }
    }
}
