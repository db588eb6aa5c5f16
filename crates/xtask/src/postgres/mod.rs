//! A temporary PostgreSQL server with its own data folder and loopback port, removed on drop.

mod programs;

use self::programs::{Account, Programs, Watchdog};
use crate::scratch_folder;
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The environment variable with the URL of a server in which tests may create databases.
pub const VARIABLE: &str = "COMPANION_TEST_POSTGRES";
/// The environment variable with an unused data folder. Copying it is ten times as fast as `initdb`.
const TEMPLATE_VARIABLE: &str = "COMPANION_TEST_POSTGRES_TEMPLATE";

/// Whether a server is given to the tests.
#[must_use]
pub fn is_given() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty())
}

/// The superuser of every cluster, without a password.
pub const ROLE: &str = "companion";

/// Loopback only, without Unix sockets in folders that other servers use.
///
/// A commit always waits until its record is written, so an immediate shutdown loses no commit. Whether a commit
/// survives a power failure depends on `fsync`.
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

/// Whether this machine has the programs that a [`Cluster`] needs.
#[must_use]
pub fn is_installed() -> bool {
    Programs::find().is_some()
}

/// Returns the path of a program of PostgreSQL, or its name if no installation was found.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    Programs::find().map_or_else(|| name.into(), |programs| programs.path(name))
}

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Rolls back open transactions and writes everything, as for a restart.
    Fast,
    /// Stops at once, so that the next start must recover, as after a crash.
    Immediate,
}

/// A running server. Dropping it stops the server and removes its folder.
///
/// If this process is killed first, the watchdog does the same within a moment.
#[derive(Debug)]
pub struct Cluster {
    programs: Programs,
    account: Option<Account>,
    port: u16,
    // Drop order matters: the watchdog releases the folder before it is removed.
    _watchdog: Watchdog,
    folder: TempDir,
}

impl Cluster {
    /// Starts a server for tests: fast, without protection against power failures.
    ///
    /// # Errors
    /// If PostgreSQL is not installed, with what to install, or if it does not start, with the end of its log.
    pub fn start() -> Result<Self> {
        Self::with(&scratch_folder(), |cluster| cluster.create(FAST))
    }

    /// Starts a server that syncs every commit to the disk, for measurements.
    ///
    /// # Errors
    /// As for [`Cluster::start`].
    pub fn durable() -> Result<Self> {
        Self::with(&std::env::temp_dir(), |cluster| cluster.create(DURABLE))
    }

    /// Returns the URL of `database`; `postgres` always exists.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns a URL of the database `postgres` that names two servers. A client uses the one that accepts it.
    #[must_use]
    pub fn url_of_either(&self, other: &Self) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{},127.0.0.1:{}/postgres", self.port, other.port)
    }

    /// Returns the environment of tests: this server, and the template of further ones.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [(VARIABLE, self.url("postgres")), (TEMPLATE_VARIABLE, self.template().display().to_string())]
    }

    /// Stops the server and waits until it has ended. Its data stays.
    ///
    /// # Errors
    /// If it is not running, or does not end.
    pub fn stop(&mut self, how: Shutdown) -> Result<()> {
        let mode = match how {
            Shutdown::Fast => "fast",
            Shutdown::Immediate => "immediate",
        };
        self.run(self.control().args(["-m", mode, "stop"]))
    }

    /// Starts the stopped server with the same data on the same port, and waits until it answers.
    ///
    /// # Errors
    /// If it is already running, its port is in use, or it does not start.
    pub fn start_again(&mut self) -> Result<()> {
        let port = format!("-p {}", self.port);
        self.run(self.control().arg("-l").arg(self.log()).args(["-o", &port, "start"]))
    }

    /// Starts a streaming standby: it has all data, receives commits, and can be read.
    ///
    /// # Errors
    /// As for [`Cluster::start`], or if this server is not running.
    pub fn standby(&self) -> Result<Self> {
        Self::with(&scratch_folder(), |standby| {
            let mut copy = standby.command("pg_basebackup");
            copy.arg("-D").arg(standby.data()).arg("-d").arg(self.url("postgres"));
            standby.run(copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]))
        })
    }

    /// Promotes a standby to a primary. On return it accepts writes, on a new timeline, with the data received by then.
    ///
    /// # Errors
    /// If it is not a standby, or the promotion fails.
    pub fn promote(&mut self) -> Result<()> {
        self.run(self.control().arg("promote"))
    }

    /// Starts a server whose data folder `create` fills.
    fn with(parent: &Path, create: impl FnOnce(&Self) -> Result<()>) -> Result<Self> {
        let programs = Programs::find().with_context(|| programs::MISSING)?;
        let folder = tempfile::Builder::new().prefix("companion-postgres-").tempdir_in(parent)?;
        let account = Account::instead_of_root(folder.path())?;
        let data = folder.path().join("data");
        let watchdog = Watchdog::watch(&programs, account.as_ref(), folder.path(), &data)?;
        let mut cluster = Self { programs, account, port: 0, _watchdog: watchdog, folder };
        create(&cluster)?;
        cluster.start_on_one_of(programs::candidates().take(PORTS_TO_TRY))?;
        Ok(cluster)
    }

    fn create(&self, settings: &str) -> Result<()> {
        let template = match env::var_os(TEMPLATE_VARIABLE) {
            Some(template) => template.into(),
            None => {
                let mut initdb = self.command("initdb");
                initdb.arg("-D").arg(self.template()).args(["-U", ROLE, "--auth=trust", "--no-sync"]);
                self.run(initdb.args(["--encoding=UTF8", "--locale=C"]))?;
                self.template()
            }
        };
        let mut copy = self.run_by_account(self.programs.environment("cp", self.folder.path()));
        self.run(copy.arg("-R").arg(template).arg(self.data()))?;
        let path = self.data().join("postgresql.conf");
        let defaults = fs::read_to_string(&path)?;
        // The last value of a setting wins.
        fs::write(&path, format!("{defaults}{SETTINGS}{settings}"))?;
        Ok(())
    }

    /// Tries several ports, because a port that is free now may be in use when the server binds it.
    fn start_on_one_of(&mut self, ports: impl IntoIterator<Item = u16>) -> Result<()> {
        for port in ports {
            self.port = port;
            match self.start_again() {
                Ok(()) => return Ok(()),
                Err(_) if self.log_text().contains("could not bind") => fs::remove_file(self.log())?,
                Err(error) => return Err(error),
            }
        }
        bail!("every port of 127.0.0.1 that PostgreSQL tried is in use")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn template(&self) -> PathBuf {
        self.folder.path().join("template")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    fn log_text(&self) -> String {
        fs::read(self.log()).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    }

    /// Returns a `pg_ctl` command, which waits until the server answers or has ended.
    fn control(&self) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data()).args(["-w", "-t", SECONDS_TO_START_OR_STOP]);
        command
    }

    fn command(&self, program: &str) -> Command {
        self.run_by_account(self.programs.command(program, self.folder.path()))
    }

    fn run_by_account(&self, mut command: Command) -> Command {
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
mod tests {
    use std::net::TcpStream;
    use std::process::Stdio;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Creating a data folder takes longer than everything else here, so everything is tested on the same clusters.
    #[test]
    fn clusters_are_as_durable_as_asked_and_leave_no_files() {
        let durable = thread::spawn(|| Cluster::durable().unwrap());
        let (mut tests, durable) = (Cluster::start().unwrap(), durable.join().unwrap());
        for (cluster, fsync) in [(&tests, "off"), (&durable, "on")] {
            for (setting, value) in [
                ("fsync", fsync),
                ("synchronous_commit", "on"),
                ("max_connections", "500"),
                ("server_encoding", "UTF8"),
            ] {
                let mut psql = Command::new(program("psql"));
                psql.args(["-XAtc", &format!("show {setting}"), &cluster.url("postgres")]);
                let shown = String::from_utf8(psql.output().unwrap().stdout).unwrap();
                assert_eq!(shown.trim(), value, "{setting}");
            }
        }
        // A taken port is exchanged for another.
        let (free, taken) = (tests.port, durable.port);
        tests.stop(Shutdown::Fast).unwrap();
        fs::remove_file(tests.log()).unwrap();
        let error = tests.start_on_one_of([taken]).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        tests.start_on_one_of([taken, free]).unwrap();
        assert_eq!(tests.port, free);
        leaves_nothing(durable);
        tests.stop(Shutdown::Fast).unwrap();
        leaves_nothing(tests);
    }

    /// Asserts that drop removes everything, whether the server runs or not.
    fn leaves_nothing(cluster: Cluster) {
        let (folder, port) = (cluster.folder.path().to_owned(), cluster.port);
        drop(cluster);
        assert!(!folder.exists());
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }

    /// Runs this test program again as a separate process, which creates a cluster and is then killed.
    #[test]
    fn a_cluster_does_not_outlive_a_killed_process() {
        const ROLE_OF_THE_VICTIM: &str = "COMPANION_TEST_VICTIM";
        const SELF: &str = "postgres::tests::a_cluster_does_not_outlive_a_killed_process";
        if std::env::var_os(ROLE_OF_THE_VICTIM).is_some() {
            let cluster = Cluster::start().unwrap();
            eprintln!("{}", cluster.folder.path().display());
            loop {
                thread::park();
            }
        }
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", SELF, "--nocapture"])
            .env(ROLE_OF_THE_VICTIM, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let folder = first_line(victim.stderr.take().unwrap());
        let folder = std::path::Path::new(&folder);
        assert!(folder.join("data/postmaster.pid").exists(), "{folder:?}");
        victim.kill().unwrap();
        victim.wait().unwrap();
        let start = Instant::now();
        while folder.exists() {
            assert!(start.elapsed() < Duration::from_secs(20), "{folder:?} is still there");
            thread::yield_now();
        }
    }

    fn first_line(stream: impl std::io::Read) -> String {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stream), &mut line).unwrap();
        line.trim_end().to_owned()
    }
}
