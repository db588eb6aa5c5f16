//! A command that runs at the repository root, kept as data so that it can be printed for repetition.

use std::fmt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// Returns the repository root, so that every task works from any folder.
pub(crate) fn root() -> Result<&'static Path> {
    let this_crate = Path::new(env!("CARGO_MANIFEST_DIR"));
    this_crate.ancestors().nth(2).context("this crate is not two folders below the top of the repository")
}

#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Invocation {
    /// Creates an invocation from a program and its arguments, separated by white space.
    pub(crate) fn new(line: &str) -> Self {
        let mut words = line.split_whitespace().map(String::from);
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn with_arguments(mut self, more: &[String]) -> Self {
        self.arguments.extend_from_slice(more);
        self
    }

    pub(crate) fn with_environment<Value: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Self {
        self.environment.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
        self
    }

    /// Sets the temporary folder of tests to a fast one.
    pub(crate) fn in_scratch_folder(self) -> Self {
        self.with_environment([(xtask::TMPDIR, xtask::scratch_folder().display().to_string())])
    }

    /// Runs it with inherited output. Fails if it fails.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.status()?;
        if !status.success() {
            bail!("`{self}` ended with {status}");
        }
        Ok(())
    }

    /// Runs it with inherited output, for programs whose exit code has more meanings than success and failure.
    pub(crate) fn status(&self) -> Result<ExitStatus> {
        self.command()?.status().with_context(|| format!("cannot start `{self}`"))
    }

    pub(crate) fn succeeds_quietly(&self) -> bool {
        let quiet = |mut command: Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        self.command().is_ok_and(|command| quiet(command).is_ok_and(|status| status.success()))
    }

    /// Runs it and returns what it wrote. Fails with all output if it fails.
    pub(crate) fn output(&self) -> Result<String> {
        let output = self.command()?.output().with_context(|| format!("cannot start `{self}`"))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            bail!("`{self}` ended with {}: {}", output.status, String::from_utf8_lossy(&text).trim());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` wrote something that is not text"))
    }

    fn command(&self) -> Result<Command> {
        // Cargo passes its own path to programs it runs, so the same toolchain is used.
        let itself = if self.program == "cargo" { std::env::var_os("CARGO") } else { None };
        let mut command = Command::new(itself.unwrap_or_else(|| self.program.clone().into()));
        hide_package(&mut command);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(root()?);
        Ok(command)
    }
}

/// Removes cargo's variables about this package: build scripts that depend on them would rebuild everything, here and
/// on the next plain cargo call.
pub(crate) fn hide_package(command: &mut Command) {
    let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_package)) {
        command.env_remove(name);
    }
}

/// Formats it as it would be typed into a shell.
impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        formatter.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(formatter, " {}", quoted(argument)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_the_package_variables_from_commands() {
        let mut command = Command::new("env");
        hide_package(&mut command);
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        assert!(removed.iter().any(|(name, _)| *name == "CARGO_MANIFEST_DIR"), "{removed:?}");
        assert!(removed.iter().all(|(name, _)| *name != "CARGO" && *name != "PATH"), "{removed:?}");
    }

    #[test]
    fn displays_an_invocation_as_typed_in_a_shell() {
        let invocation = Invocation::new("cargo doc --no-deps")
            .with_environment([("RUSTDOCFLAGS", "-D warnings")])
            .with_arguments(&["it's/**".to_owned()]);
        assert_eq!(invocation.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s/**'");
    }

    #[test]
    fn reports_the_command_line_of_a_failed_program() {
        let error = Invocation::new("cargo no-such-command").output().unwrap_err();
        assert!(error.to_string().contains("`cargo no-such-command`"), "{error}");
        assert!(!Invocation::new("no-such-program-anywhere").succeeds_quietly());
    }
}
