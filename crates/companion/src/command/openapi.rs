//! `companion openapi`.

use super::{failure::Failure, output::print};

pub(super) fn run() -> Result<(), Failure> {
    let document = companion_management::openapi().to_pretty_json();
    let document =
        document.map_err(|error| Failure::Failed(format!("the document cannot be written: {error}")))?;
    print(&(document + "\n"))
}
