//! A throw-away PostgreSQL server: its own data folder, its own port on loopback, gone when it is dropped.

mod account;
mod port;
mod programs;
mod watchdog;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use account::Account;
use programs::Programs;
use watchdog::Watchdog;

use crate::scratch;

/// The environment variable that tells tests the URL of a server in which they may make databases.
pub const VARIABLE: &str = "COMPANION_TEST_POSTGRES";

/// Whether someone has given the tests a server.
#[must_use]
pub fn is_given() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty())
}

/// The superuser of every cluster; it needs no password.
pub const ROLE: &str = "companion";

/// Loopback only, and no sockets in folders that other servers use too.
///
/// A commit always waits until its record is written, so that a server that is stopped at once loses no commit; whether
/// it also outlives a power failure is up to `fsync`.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 500
synchronous_commit = on
timezone = 'UTC'
log_timezone = 'UTC'
";
const FAST: &str = "fsync = off\nfull_page_writes = off\n";
const DURABLE: &str = "fsync = on\nfull_page_writes = on\n";

const SECONDS_TO_START_OR_STOP: &str = "60";
const PORTS_TO_TRY: usize = 20;

/// Whether this machine has the programs that a [`Cluster`] is made with.
#[must_use]
pub fn is_installed() -> bool {
    Programs::find().is_some()
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Open transactions are rolled back and everything is written, as when a service is restarted.
    Fast,
    /// At once, so that the next start has to recover, as after a crash.
    Immediate,
}

/// A running server; dropping it stops it and removes its folder.
///
/// Should this process be killed before it can do so, the watchdog does it within a moment.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    account: Option<Account>,
    port: u16,
    // In this order: the watchdog lets go of the folder before the folder is removed.
    _watchdog: Watchdog,
    folder: TempDir,
}

impl Cluster {
    /// A server for tests: quick, and no match for a power failure.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, with what to install, or when it does not start, with the end of its log.
    pub fn start() -> Result<Self> {
        Self::with(&scratch::folder(), |cluster| cluster.create(FAST))
    }

    /// A server that syncs every commit to the disk, for measurements.
    ///
    /// # Errors
    /// As for [`Cluster::start`].
    pub fn durable() -> Result<Self> {
        Self::with(&std::env::temp_dir(), |cluster| cluster.create(DURABLE))
    }

    /// Where `database` is, for a client; `postgres` is always there.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{}/{database}", self.port)
    }

    /// Stops the server and returns when it has ended; its data stays.
    ///
    /// # Errors
    /// When it is not running, or does not end.
    pub fn stop(&mut self, how: Shutdown) -> Result<()> {
        let mode = match how {
            Shutdown::Fast => "fast",
            Shutdown::Immediate => "immediate",
        };
        self.run(self.control().args(["-m", mode, "stop"]))
    }

    /// Starts the stopped server with the same data on the same port, and returns when it answers.
    ///
    /// # Errors
    /// When it is running already, when its port is taken meanwhile, or when it does not start.
    pub fn start_again(&mut self) -> Result<()> {
        let port = format!("-p {}", self.port);
        self.run(self.control().arg("-l").arg(self.log()).args(["-o", &port, "start"]))
    }

    /// Another server that follows this one: it has all of its data, receives what is committed, and may be read.
    ///
    /// # Errors
    /// As for [`Cluster::start`], or when this one is not running.
    pub fn standby(&self) -> Result<Self> {
        Self::with(&scratch::folder(), |standby| {
            let mut copy = standby.command("pg_basebackup");
            copy.arg("-D").arg(standby.data()).arg("-d").arg(self.url("postgres"));
            standby.run(copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]))
        })
    }

    /// Makes a server of its own of a standby. It takes writes when this returns, on a new timeline, and has what it had
    /// received by then.
    ///
    /// # Errors
    /// When it is not a standby, or does not become a server.
    pub fn promote(&mut self) -> Result<()> {
        self.run(self.control().arg("promote"))
    }

    /// A server whose data folder is made by `create`.
    fn with(parent: &Path, create: impl FnOnce(&Self) -> Result<()>) -> Result<Self> {
        let programs = Programs::find().with_context(|| programs::MISSING)?;
        let folder = tempfile::Builder::new().prefix("companion-postgres-").tempdir_in(parent)?;
        let account = Account::instead_of_root(folder.path())?;
        let data = folder.path().join("data");
        let watchdog = Watchdog::watch(&programs, account.as_ref(), folder.path(), &data)?;
        let mut cluster = Self { programs, account, port: 0, _watchdog: watchdog, folder };
        create(&cluster)?;
        cluster.start_on_one_of(port::candidates().take(PORTS_TO_TRY))?;
        Ok(cluster)
    }

    fn create(&self, settings: &str) -> Result<()> {
        let mut initdb = self.command("initdb");
        initdb.arg("-D").arg(self.data()).args(["-U", ROLE, "--auth=trust", "--no-sync"]);
        self.run(initdb.args(["--encoding=UTF8", "--locale=C"]))?;
        let path = self.data().join("postgresql.conf");
        let defaults = fs::read_to_string(&path)?;
        // The last word on a setting counts.
        fs::write(&path, format!("{defaults}{SETTINGS}{settings}"))?;
        Ok(())
    }

    /// A port that is free now may be taken when the server asks for it.
    fn start_on_one_of(&mut self, ports: impl IntoIterator<Item = u16>) -> Result<()> {
        for port in ports {
            self.port = port;
            match self.start_again() {
                Ok(()) => return Ok(()),
                Err(_) if self.log_text().contains("could not bind") => fs::remove_file(self.log())?,
                Err(error) => return Err(error),
            }
        }
        bail!("PostgreSQL found each port of 127.0.0.1 taken that it tried")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn log_text(&self) -> String {
        fs::read(self.log()).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// `pg_ctl` waits until the server answers, or has ended.
    fn control(&self) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data()).args(["-w", "-t", SECONDS_TO_START_OR_STOP]);
        command
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.programs.command(program, self.folder.path());
        if let Some(account) = &self.account {
            account.runs(&mut command);
        }
        command
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        if output.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        let log = self.log_text();
        let end_of_log = log.lines().rev().take(10).collect::<Vec<_>>().into_iter().rev();
        let details = complaint.lines().chain(end_of_log).collect::<Vec<_>>().join("\n  ");
        bail!("{command:?} ended with {}\n  {details}", output.status)
    }
}

#[cfg(test)]
mod tests;
