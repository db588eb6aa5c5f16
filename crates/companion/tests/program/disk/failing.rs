//! A disk that fails when the test says so.

use crate::{
    program::Program,
    stage::{Node, Stage},
};
use std::{fs, path::PathBuf, process::Command};
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/disk/shim.c");
pub(super) const STORAGE: &str = "sqlite:companion.db";

/// What stands between a program and its disk.
pub(super) struct Disk(TempDir);

impl Disk {
    /// Nothing where there is no compiler for C.
    pub(super) fn new() -> Option<Self> {
        let disk = Self(TempDir::new().unwrap());
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(disk.shim()).arg(SOURCE).output();
        let Ok(compiled) = compiled else {
            println!("disk: skipped, as there is no C compiler");
            return None;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(disk)
    }

    /// A program whose database is on this disk.
    pub(super) fn program(&self, stage: &Stage, arguments: &[&str]) -> Program {
        stage
            .program(arguments, STORAGE)
            // Nobody's session ends because of another.
            .env("COMPANION_SESSIONS__PER_USER", "1000")
            .env("LD_PRELOAD", self.shim().to_str().unwrap())
            .env("FAULT", self.control().to_str().unwrap())
    }

    pub(super) fn serve(&self, stage: &Stage) -> Node {
        Node::of(self.program(stage, &["serve"]).start())
    }

    /// Fails from now on, as `shim.c` says.
    pub(super) fn fail(&self, fault: &str) {
        let next = self.0.path().join("next");
        fs::write(&next, fault).unwrap();
        fs::rename(next, self.control()).unwrap();
    }

    /// How often it has failed since it last worked.
    pub(super) fn failures(&self) -> usize {
        fs::read(self.met()).unwrap_or_default().len()
    }

    /// Works from now on. Gives how often it had failed.
    pub(super) fn work(&self) -> usize {
        fs::remove_file(self.control()).unwrap();
        let failures = self.failures();
        let _ = fs::remove_file(self.met());
        failures
    }

    fn shim(&self) -> PathBuf {
        self.0.path().join("shim.so")
    }

    fn control(&self) -> PathBuf {
        self.0.path().join("fault")
    }

    fn met(&self) -> PathBuf {
        self.0.path().join("fault.met")
    }
}
