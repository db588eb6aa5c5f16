//! The service as in production: the program itself, with its own database file and all features.

use crate::{
    load::Load,
    machine,
    server::{Server, exchange},
    world::{KEY, World, Written},
};
use anyhow::Context as _;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_companion");
/// The path that needs a session.
pub(crate) const GUILDS: &str = "/guilds";
/// The management key.
pub(crate) const MANAGEMENT_KEY: &str = "only-this-benchmark-has-this-key";

/// A database with a world, and the settings to serve it.
pub(crate) struct Installation {
    folder: TempDir,
    pub(crate) world: Written,
    pub(crate) public: SocketAddr,
    pub(crate) management: SocketAddr,
    storage: String,
    platform: SocketAddr,
    access_log: bool,
}

impl Installation {
    /// Creates an installation on a SQLite file.
    pub(crate) fn new(world: &World) -> anyhow::Result<Self> {
        Self::within("sqlite:companion.db", world)
    }

    /// Creates an installation on this storage.
    pub(crate) fn within(storage: &str, world: &World) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let world = world.write(folder.path())?;
        let (public, management) = (machine::free_address()?, machine::free_address()?);
        let installation = Self {
            folder,
            world,
            public,
            management,
            storage: storage.to_owned(),
            // Nothing listens there: usually no user signs in.
            platform: (Ipv4Addr::LOCALHOST, 9).into(),
            access_log: false,
        };
        let mut import = installation.program(Command::new(PROGRAM));
        let output = import.arg("import").arg(&installation.world.lines).stdin(Stdio::null()).output()?;
        anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(installation)
    }

    /// Enables the access log.
    pub(crate) fn with_access_log(self) -> Self {
        Self { access_log: true, ..self }
    }

    /// Signs users in with this platform.
    pub(crate) fn with_platform(self, platform: SocketAddr) -> Self {
        Self { platform, ..self }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Serves it on the server core.
    pub(crate) fn serve(&self) -> anyhow::Result<Server> {
        self.serve_under(machine::server_core())
    }

    /// Serves it under a command that runs or observes it.
    pub(crate) fn serve_under(&self, mut command: Command) -> anyhow::Result<Server> {
        command.arg(PROGRAM);
        let mut serve = self.program(command);
        serve.arg("serve");
        Server::start(serve, self.public, (self.management, "/health/ready"), &self.file("log"))
    }

    fn program(&self, mut command: Command) -> Command {
        command.current_dir(self.folder()).env_clear();
        for name in ["PATH", "HOME", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        for (key, value) in [
            ("STORAGE__URL", self.storage.as_str()),
            ("HTTP__LISTEN", &self.public.to_string()),
            ("MANAGEMENT__LISTEN", &self.management.to_string()),
            ("MANAGEMENT__KEY", MANAGEMENT_KEY),
            ("LOG__ACCESS", if self.access_log { "true" } else { "false" }),
            ("SECRETS__KEY", &STANDARD.encode(KEY)),
            ("IDENTITY__CLIENT_ID", "benchmark"),
            ("IDENTITY__CLIENT_SECRET", "benchmark"),
            ("IDENTITY__REDIRECT_URI", "https://dashboard.example/callback"),
            ("IDENTITY__API_URL", &format!("http://{}", self.platform)),
        ] {
            command.env(format!("COMPANION_{key}"), value);
        }
        command
    }

    /// Sends a request, as the bot does.
    pub(crate) fn feed(&self, method: &str, path: &str, body: &str) -> anyhow::Result<()> {
        self.manage(method, path, body).map(drop)
    }

    fn manage(&self, method: &str, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
        exchange(self.management, &request(method, path, "Connection: close\r\n", body))
            .with_context(|| format!("{method} {path}"))
    }

    /// Sends a report of a cluster, so that there is a status to show.
    pub(crate) fn report(&self) -> anyhow::Result<()> {
        let shard = json!({"heartbeatSent": 1_700_000_000.25, "heartbeatAcknowledged": 1_700_000_000.3, "latency": 48});
        let shards: serde_json::Map<_, _> = (0..4).map(|id: u8| (id.to_string(), shard.clone())).collect();
        let report = json!({"memory": 512.25, "started_at": 1_699_990_000, "shards": shards});
        self.feed("PUT", "/bot/clusters/one/heartbeat", &report.to_string())
    }

    /// Waits until all feedback is cached. Before that the store picks, which has another cost.
    pub(crate) fn wait_for_feedback(&self) -> anyhow::Result<()> {
        for _ in 0..3000 {
            let metrics = String::from_utf8(self.manage("GET", "/metrics", "")?)?;
            let entries = metrics.lines().find_map(|line| line.strip_prefix("companion_feedback_entries "));
            if entries.context("feedback is not counted")? != "0" {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        anyhow::bail!("feedback was not loaded within five minutes")
    }

    /// Returns a load of this path on a service, with the sessions of all users if the path needs one.
    pub(crate) fn load(&self, service: &Server, path: &str) -> Load {
        let tokens = (path == GUILDS).then(|| self.world.tokens.clone());
        Load { tokens, ..Load::new(service.address, path) }
    }

    /// Returns the header with the session of the first user if the path needs one.
    pub(crate) fn header(&self, path: &str) -> anyhow::Result<String> {
        if path != GUILDS {
            return Ok(String::new());
        }
        let first = BufReader::new(std::fs::File::open(&self.world.tokens)?).lines().next();
        Ok(format!("Token: {}\r\n", first.context("there is no session")??))
    }

    /// Writes codes for sign-ins from this number on, and returns a load that signs in with each of them once.
    pub(crate) fn sign_ins(&self, service: &Server, first: u64, count: u64) -> anyhow::Result<Load> {
        let codes = self.file("codes");
        let lines = (first..first + count).map(|number| format!("code-{number}\n"));
        std::fs::write(&codes, lines.collect::<String>())?;
        Ok(Load { tokens: Some(codes), once: true, sign_in: true, ..Load::new(service.address, "/auth") })
    }

    /// Returns the path of a file for this run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

/// Returns a request of the bot, with more headers.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let content_type = if path == "/bot/sync" { "application/x-ndjson" } else { "application/json" };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {MANAGEMENT_KEY}\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len(),
    )
}
