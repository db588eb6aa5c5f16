//! The bot, reporting changes at a constant rate.

use crate::{
    machine,
    service::{Installation, request},
    world::guild_named,
};
use clap::Args;
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Maximum number of single changes in flight.
const CONNECTIONS: u64 = 16;

#[derive(Args)]
pub(crate) struct Changes {
    management: SocketAddr,
    /// Number of guilds to rename
    guilds: u64,
    /// Changes per second
    rate: u32,
    /// Changes per request: one is a PUT, several are a sync
    batch: u64,
}

/// A bot that runs until it is stopped.
pub(crate) struct Feed {
    process: Child,
}

impl Feed {
    pub(crate) fn start(
        installation: &Installation,
        guilds: u64,
        rate: u32,
        batch: u64,
    ) -> anyhow::Result<Self> {
        let mut command: Command = machine::on_load_core(&std::env::current_exe()?);
        command.arg("feed").arg(installation.management.to_string());
        command.args([guilds.to_string(), rate.to_string(), batch.to_string()]);
        Ok(Self { process: command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()? })
    }

    /// Stops it. Returns the accepted changes per second.
    pub(crate) fn stop(mut self) -> anyhow::Result<f64> {
        drop(self.process.stdin.take());
        let output = self.process.wait_with_output()?;
        anyhow::ensure!(output.status.success(), "the bot failed");
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }
}

/// State shared by all senders.
struct Sending<'a> {
    changes: &'a Changes,
    start: Instant,
    over: AtomicBool,
    done: AtomicU64,
}

/// The process itself: renames guilds until its input ends, then prints the rate.
#[expect(clippy::cast_precision_loss, reason = "far fewer changes than floating point holds exactly")]
pub(crate) fn run(changes: &Changes) -> anyhow::Result<()> {
    let (over, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let sending = &Sending { changes, start: Instant::now(), over, done };
    std::thread::scope(|scope| {
        let connections = if changes.batch == 1 { CONNECTIONS } else { 1 };
        let senders: Vec<_> = (0..connections)
            .map(|first| scope.spawn(move || send(sending, (first..).step_by(connections as usize))))
            .collect();
        std::io::stdin().read_to_end(&mut Vec::new())?;
        sending.over.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??;
        }
        println!("{}", sending.done.load(Ordering::Relaxed) as f64 / sending.start.elapsed().as_secs_f64());
        Ok(())
    })
}

/// Sends the requests of these numbers, each when it is due.
#[expect(clippy::cast_precision_loss, reason = "far fewer changes than floating point holds exactly")]
fn send(sending: &Sending<'_>, numbers: impl Iterator<Item = u64>) -> anyhow::Result<()> {
    let Sending { changes, start, over, done } = sending;
    let stream = TcpStream::connect(changes.management)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    for number in numbers {
        let first = number * changes.batch;
        let due = *start + Duration::from_secs_f64(first as f64 / f64::from(changes.rate));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if over.load(Ordering::Relaxed) {
            break;
        }
        let request = if changes.batch == 1 {
            put_guild(first, changes.guilds)
        } else {
            let lines =
                (first..first + changes.batch).map(|number| format!("{}\n", changed(number, changes.guilds)));
            request("POST", "/bot/sync", "", &lines.collect::<String>())
        };
        (&stream).write_all(request.as_bytes())?;
        answered(&mut answers)?;
        done.fetch_add(changes.batch, Ordering::Relaxed);
    }
    Ok(())
}

/// Returns a guild with another name for each number.
fn changed(number: u64, guilds: u64) -> Value {
    let guild = number.wrapping_mul(7919) % guilds;
    guild_named(guild, &format!("Harbour Town {guild}, the {number}th"))
}

/// Returns the request that changes one guild.
pub(crate) fn put_guild(number: u64, guilds: u64) -> String {
    let mut record = changed(number, guilds);
    let id = record.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(fields) = record.as_object_mut() {
        fields.retain(|name, _| name != "kind" && name != "id");
    }
    request("PUT", &format!("/bot/guilds/{id}"), "", &record.to_string())
}

fn answered(answers: &mut BufReader<TcpStream>) -> anyhow::Result<()> {
    let (mut line, mut length) = (String::new(), 0);
    answers.read_line(&mut line)?;
    anyhow::ensure!(line.starts_with("HTTP/1.1 200"), "the feed was answered {line}");
    while line.trim() != "" {
        line.clear();
        answers.read_line(&mut line)?;
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse()?;
        }
    }
    answers.read_exact(&mut vec![0; length])?;
    Ok(())
}
