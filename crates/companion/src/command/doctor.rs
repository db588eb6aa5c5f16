//! `companion doctor`.

use super::{failure::Failure, output::print};
use crate::{
    configuration::Layers,
    doctor::{Status, examine},
};
use tokio::runtime::Runtime;

pub(super) fn run(layers: &Layers, json: bool) -> Result<(), Failure> {
    let runtime = Runtime::new().map_err(|error| Failure::Failed(error.to_string()))?;
    let report = runtime.block_on(examine(layers))?;
    // A server that does not answer keeps its thread, and nobody waits for that.
    runtime.shutdown_background();
    print(&if json { format!("{:#}\n", report.to_json()) } else { report.to_string() })?;
    match report.status() {
        Status::Failed => {
            Err(Failure::Failed("something is wrong; each line that failed says what to do".to_owned()))
        }
        Status::Ok | Status::Warning | Status::Skipped => Ok(()),
    }
}
