//! What a running program has of the machine, as Linux counts it.

use crate::program::Running;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Holdings {
    /// In bytes.
    pub(crate) memory: u64,
    /// Open descriptors.
    pub(crate) files: usize,
}

impl Holdings {
    pub(crate) fn of(service: &Running) -> Self {
        Self::of_process(&service.id().to_string())
    }

    /// What this process has, where the service is a part of it.
    pub(crate) fn of_this_process() -> Self {
        Self::of_process("self")
    }

    fn of_process(name: &str) -> Self {
        let process = format!("/proc/{name}");
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        Self { memory: kilobytes << 10, files: std::fs::read_dir(format!("{process}/fd")).unwrap().count() }
    }

    pub(crate) fn megabytes(self) -> u64 {
        self.memory >> 20
    }
}
