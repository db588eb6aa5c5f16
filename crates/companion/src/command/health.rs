//! `companion health` and `companion doctor`.

use super::{
    error::{CommandError, failed},
    output::print,
};
use crate::{
    configuration::{Configuration, Layers},
    doctor::{Status, examine},
    supervisor::probe,
};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Longer than a healthy service takes, and shorter than the probe timeout of container platforms.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn run(configuration: &Configuration) -> Result<(), CommandError> {
    let address = configuration.management.listen.reachable();
    if address.port == 0 {
        return Err(failed("management.listen has port 0, so the address is unknown"));
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    match runtime.block_on(probe(address.to_string(), "/health/ready", PROBE_TIMEOUT)) {
        Ok(true) => print("ready\n"),
        Ok(false) => Err(failed(format_args!("the service at {address} is not ready"))),
        Err(error) => Err(failed(format_args!("no service answers at {address}: {error}"))),
    }
}

/// Examines the installation, whether the service is running or not.
pub(super) fn doctor(layers: &Layers, json: bool) -> Result<(), CommandError> {
    let runtime = Runtime::new().map_err(failed)?;
    let report = runtime.block_on(examine(layers))?;
    // A database server that does not answer still blocks its thread. Do not wait for it.
    runtime.shutdown_background();
    print(&if json { format!("{:#}\n", report.to_json()) } else { report.to_string() })?;
    match report.status() {
        Status::Failed => Err(failed("something is wrong; each line that failed says what to do")),
        Status::Ok | Status::Warning | Status::Skipped => Ok(()),
    }
}
