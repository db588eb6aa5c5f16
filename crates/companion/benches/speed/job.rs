//! Our own processes, each of which gets its work as JSON on its command line.

use crate::{bare::Bare, feed::Changes, inserts::Inserts, load::Load, platform::Platform};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// The work of a process.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Job {
    Bare(Bare),
    Load(Load),
    Feed(Changes),
    Platform(Platform),
    Inserts(Inserts),
}

impl Job {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Appends a process with this work to a command that runs or observes it.
    pub(crate) fn under(&self, mut command: Command) -> anyhow::Result<Command> {
        command.arg(std::env::current_exe()?).arg("run").arg(serde_json::to_string(self)?);
        Ok(command)
    }

    /// The process itself.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match self {
            Self::Bare(bare) => bare.serve(),
            Self::Load(load) => load.run(),
            Self::Feed(changes) => changes.run(),
            Self::Platform(platform) => platform.serve(),
            Self::Inserts(inserts) => inserts.run(),
        }
    }
}
