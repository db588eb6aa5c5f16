//! Peer frameworks: the same endpoints with Fastify and with FastAPI.

use crate::{machine, server::Server, service::Installation};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The folder of their sources.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/speed/peers");
/// The folder in which they are installed, once.
const INSTALLED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/peers");

/// The peers that could be started.
pub(crate) struct Peers {
    started: Vec<(&'static str, Server)>,
    missing: Vec<String>,
}

struct Peer {
    name: &'static str,
    folder: &'static str,
    needs: &'static [&'static str],
    /// The command that installs it, run in its folder.
    install: &'static [&'static str],
    /// The command that starts it, run in its folder.
    program: &'static str,
    arguments: &'static [&'static str],
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "Fastify",
        folder: "fastify",
        needs: &["node", "npm"],
        install: &["npm ci --no-audit --no-fund"],
        program: "node",
        arguments: &["server.js"],
    },
    Peer {
        name: "FastAPI",
        folder: "fastapi",
        needs: &["python3"],
        install: &["python3 -m venv environment", "environment/bin/pip install --quiet -r requirements.txt"],
        program: "environment/bin/python",
        arguments: &["main.py"],
    },
];

impl Peers {
    /// Installs and starts them over the world of an installation.
    pub(crate) fn start(installation: &Installation) -> anyhow::Result<Self> {
        let mut peers = Self { started: Vec::new(), missing: Vec::new() };
        for peer in &PEERS {
            match peer.needs.iter().find(|program| !machine::has(program)) {
                Some(program) => peers.missing.push(format!("{}: {program} is missing", peer.name)),
                None => peers.started.push((peer.name, peer.start(installation)?)),
            }
        }
        Ok(peers)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(&'static str, Server)> {
        self.started.iter()
    }

    /// Returns what is missing in the table, and why.
    pub(crate) fn remarks(&self) -> String {
        self.missing.iter().map(|remark| format!("Skipped: {remark}.\n")).collect()
    }
}

impl Peer {
    fn start(&self, installation: &Installation) -> anyhow::Result<Server> {
        let folder = self.installed()?;
        let address = machine::free_address()?;
        let mut command = machine::server_core();
        command
            .arg(self.program)
            .args(self.arguments)
            .current_dir(&folder)
            .env("PORT", address.port().to_string())
            .env("DATABASE", installation.file(&format!("{}.db", self.folder)))
            .env("WORLD", &installation.world.lines);
        Server::start(command, address, (address, "/team"), &installation.file(self.folder))
    }

    /// Returns its folder, with all dependencies installed.
    fn installed(&self) -> anyhow::Result<PathBuf> {
        let (source, target) = (Path::new(SOURCES).join(self.folder), Path::new(INSTALLED).join(self.folder));
        std::fs::create_dir_all(&target)?;
        for file in std::fs::read_dir(source)? {
            let file = file?;
            std::fs::copy(file.path(), target.join(file.file_name()))?;
        }
        let done = target.join("installed");
        if !done.exists() {
            for line in self.install {
                let status = Command::new("sh")
                    .args(["-c", line])
                    .current_dir(&target)
                    .stdout(Stdio::null())
                    .status()?;
                anyhow::ensure!(status.success(), "`{line}` failed");
            }
            std::fs::write(done, "")?;
        }
        Ok(target)
    }
}
