//! `companion health` and `companion doctor`.

use super::{error::CommandError, output::print};
use crate::{
    configuration::{Configuration, Layers, ListenAddress},
    doctor::{Status, examine},
};
use std::{
    io::{self, Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    time::Duration,
};
use tokio::runtime::Runtime;

/// Longer than a healthy service takes, and shorter than the probe timeout of container platforms.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn run(configuration: &Configuration) -> Result<(), CommandError> {
    let address = configuration.management.listen.reachable();
    if address.port == 0 {
        return Err(CommandError::Failed(
            "management.listen has port 0, so the address is unknown".to_owned(),
        ));
    }
    match status_line(&address) {
        Ok(line) if line.split(' ').nth(1) == Some("200") => print("ready\n"),
        Ok(_) => Err(CommandError::Failed(format!("the service at {address} is not ready"))),
        Err(error) => Err(CommandError::Failed(format!("no service answers at {address}: {error}"))),
    }
}

fn status_line(address: &ListenAddress) -> io::Result<String> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for candidate in address.to_string().to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, PROBE_TIMEOUT) {
            Ok(stream) => return ask(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn ask(mut stream: TcpStream) -> io::Result<String> {
    stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
    stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
    stream.write_all(b"GET /health/ready HTTP/1.0\r\nHost: companion\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Examines the installation, whether the service is running or not.
pub(super) fn doctor(layers: &Layers, json: bool) -> Result<(), CommandError> {
    let runtime = Runtime::new().map_err(|error| CommandError::Failed(error.to_string()))?;
    let report = runtime.block_on(examine(layers))?;
    // A database server that does not answer still blocks its thread. Do not wait for it.
    runtime.shutdown_background();
    print(&if json { format!("{:#}\n", report.to_json()) } else { report.to_string() })?;
    match report.status() {
        Status::Failed => {
            Err(CommandError::Failed("something is wrong; each line that failed says what to do".to_owned()))
        }
        Status::Ok | Status::Warning | Status::Skipped => Ok(()),
    }
}
