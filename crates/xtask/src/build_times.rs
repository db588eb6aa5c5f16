//! Measures the first commands of a newcomer in a fresh clone, compared with a floor: an empty program with the same
//! large dependencies. Prints the table of docs/CONTRIBUTING.md.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::invocation::root;

/// The manifest of the floor, with the dependencies and features that we use.
const FLOOR: &str = r#"
[package]
name = "floor"
version = "0.1.0"
edition = "2024"

[dependencies]
actix-web = { version = "4", default-features = false, features = ["macros"] }
diesel = { version = "2", default-features = false, features = ["postgres", "r2d2", "sqlite"] }
libsqlite3-sys = { version = "*", features = ["bundled"] }
oauth2 = { version = "5", default-features = false }
pq-sys = { version = "*", default-features = false, features = ["bundled_without_openssl"] }
reqwest = { version = "0.13", default-features = false, features = ["rustls-no-provider"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std", "tls12"] }

[profile.dev]
debug = "line-tables-only"

[profile.dev.package."*"]
debug = false
"#;

/// A file of the domain whose change recompiles its tests.
const TOUCHED_FILE: &str = "crates/domain/src/rules/pick.rs";

/// The cost of a command.
struct Cost {
    wall: Duration,
    cpu: Duration,
    output: String,
}

pub(crate) fn run() -> Result<()> {
    let work = tempfile::tempdir()?;
    let floor = floor(&work.path().join("floor"))?;
    let clone = work.path().join("clone");
    let source = root()?.display().to_string();
    timed(work.path(), &["git", "clone", "--quiet", &source, &clone.display().to_string()])?;
    let first = first_answer(&clone)?;
    // What the alias `cargo xtask test` expands to, but without `--quiet`.
    let second = timed(&clone, &["cargo", "run", "--locked", "--package", "xtask", "--", "test"])?;
    let target = kilobytes(&clone.join("target"))?;
    let test = ["cargo", "test", "--package", "companion-domain"];
    timed(&clone, &test)?;
    File::options().append(true).open(clone.join(TOUCHED_FILE))?.write_all(b"\n")?;
    let rule = timed(&clone, &test)?;
    timed(&clone, &["git", "checkout", "--", TOUCHED_FILE])?;
    fs::remove_dir_all(clone.join("target"))?;
    let ci = timed(&clone, &[".ci/run"])?;

    println!("\n| | |\n|---|---|");
    println!("| the floor | {} |", seconds(&floor));
    println!("| `cargo run -- demo` to the first answer | {} |", seconds(&first));
    println!("| crates that it compiles | {} |", names(&first.output).len());
    println!("| `cargo xtask test` after it | {} |", seconds(&second));
    let again = dependencies(&second.output).intersection(&dependencies(&first.output)).count();
    println!("| dependencies that it compiles again | {again} |");
    println!("| of that, tests running | {} |", running(&second.output).unwrap_or("unknown"));
    println!("| `target` after both | {:.1} GB |", target as f64 / 1e6);
    println!("| `cargo test -p companion-domain` after a change of a rule | {} |", seconds(&rule));
    println!("| `.ci/run` in a fresh clone | {} |", seconds(&ci));
    Ok(())
}

fn floor(folder: &Path) -> Result<Cost> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), FLOOR)?;
    fs::write(folder.join("src/main.rs"), "fn main() {}\n")?;
    fs::copy(root()?.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    timed(folder, &["cargo", "build"])
}

/// Starts the demo as the README describes, and requests the first page that it prints.
fn first_answer(clone: &Path) -> Result<Cost> {
    let (start, before) = (Instant::now(), children_cpu()?);
    let log = clone.join("first.log");
    let mut demo = command(clone, &["cargo", "run", "--", "demo", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(File::create(&log)?)
        .spawn()?;
    let out = demo.stdout.take().context("the demo has no output")?;
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let address = lines.find_map(|line| address(&line).map(str::to_owned));
    let answer = address.context("the demo names no address").and_then(|address| {
        let mut stream = TcpStream::connect(&address)?;
        stream.write_all(
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    let wall = start.elapsed();
    // SIGINT, so that both cargo and the demo end.
    let group = rustix::process::Pid::from_child(&demo);
    rustix::process::kill_process_group(group, rustix::process::Signal::INT)?;
    demo.wait()?;
    ensure!(answer?.starts_with("HTTP/1.1 "), "the demo did not answer");
    let output = fs::read_to_string(&log)?;
    Ok(Cost { wall, cpu: children_cpu()? - before, output })
}

/// Returns the host and port of the first URL in a line.
fn address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("http://")?;
    rest.split(|c: char| !(c.is_ascii_alphanumeric() || ".:-".contains(c))).next()
}

fn timed(folder: &Path, words: &[&str]) -> Result<Cost> {
    println!("==> {}", words.join(" "));
    let (start, before) = (Instant::now(), children_cpu()?);
    let output = command(folder, words).output().with_context(|| format!("cannot start {words:?}"))?;
    let (wall, cpu) = (start.elapsed(), children_cpu()? - before);
    let text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&text).into_owned();
    ensure!(output.status.success(), "{words:?} failed:\n{output_text}");
    println!("<== {:.0} s", wall.as_secs_f64());
    Ok(Cost { wall, cpu, output: output_text })
}

/// Creates a command without the environment of the cargo that runs us.
fn command(folder: &Path, words: &[&str]) -> Command {
    use std::os::unix::process::CommandExt as _;
    let (program, arguments) = words.split_first().unwrap_or((&"true", &[]));
    let program =
        Some(folder.join(program)).filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(program));
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name == "CI" || name.starts_with("CARGO_") && name != "CARGO_HOME")
        {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(folder).process_group(0);
    command
}

/// Returns the processor time of all ended children, on Linux.
fn children_cpu() -> Result<Duration> {
    let stat =
        fs::read_to_string("/proc/self/stat").context("processor times are available on Linux only")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

/// Returns the crates that cargo reports as compiling.
fn names(output: &str) -> BTreeSet<&str> {
    output.lines().filter_map(|line| line.trim_start().strip_prefix("Compiling ")).collect()
}

/// Returns the crates that are not of this workspace.
fn dependencies(output: &str) -> BTreeSet<&str> {
    names(output).into_iter().filter(|name| !name.contains("(/")).collect()
}

/// Returns the duration in nextest's summary.
fn running(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("Summary [")?;
    rest.split_once(']').map(|(seconds, _)| seconds.trim())
}

fn kilobytes(folder: &Path) -> Result<u64> {
    let output = Command::new("du").args(["-sk"]).arg(folder).output().context("cannot start `du`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().next().and_then(|size| size.parse().ok()).context("`du` gave no number")
}

fn seconds(took: &Cost) -> String {
    format!("{:.0} s, {:.0} CPU-s", took.wall.as_secs_f64(), took.cpu.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_commands() {
        assert_eq!(address("Public API http://127.0.0.1:8080/ and"), Some("127.0.0.1:8080"));
        let output = "   Compiling syn v2.0.1\n   Compiling domain v0.1.0 (/x)\n  Summary [ 12.5s] 3 tests";
        assert_eq!(names(output).len(), 2);
        assert_eq!(dependencies(output), BTreeSet::from(["syn v2.0.1"]));
        assert_eq!(running(output), Some("12.5s"));
    }
}
