//! The bot, reporting changes at a constant rate.

use crate::{machine, service::Installation, world::guild_named};
use clap::Args;
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Maximum number of changes in flight.
const CONNECTIONS: u64 = 16;

#[derive(Args)]
pub(crate) struct Changes {
    management: SocketAddr,
    key: String,
    /// Number of guilds to rename
    guilds: u64,
    /// Changes per second
    rate: u32,
}

/// A bot that runs until it is stopped.
pub(crate) struct Feed {
    process: Child,
}

impl Feed {
    pub(crate) fn start(installation: &Installation, guilds: u64, rate: u32) -> anyhow::Result<Self> {
        let mut command: Command = machine::on_load_core(&std::env::current_exe()?);
        command.arg("feed").arg(installation.management.to_string()).arg(crate::service::MANAGEMENT_KEY);
        command.args([guilds.to_string(), rate.to_string()]);
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
        let senders: Vec<_> =
            (0..CONNECTIONS).map(|first| scope.spawn(move || send(sending, first))).collect();
        std::io::stdin().read_to_end(&mut Vec::new())?;
        sending.over.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??;
        }
        println!("{}", sending.done.load(Ordering::Relaxed) as f64 / sending.start.elapsed().as_secs_f64());
        Ok(())
    })
}

/// Sends every sixteenth change when it is due.
#[expect(clippy::cast_precision_loss, reason = "far fewer changes than floating point holds exactly")]
fn send(sending: &Sending<'_>, first: u64) -> anyhow::Result<()> {
    let Sending { changes, start, over, done } = sending;
    let stream = TcpStream::connect(changes.management)?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?);
    for number in (first..).step_by(usize::try_from(CONNECTIONS)?) {
        let due = *start + Duration::from_secs_f64(number as f64 / f64::from(changes.rate));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if over.load(Ordering::Relaxed) {
            break;
        }
        let guild = number.wrapping_mul(7919) % changes.guilds;
        let mut record = guild_named(guild, &format!("Harbour Town {guild}, the {number}th"));
        let id = record.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|name, _| name != "kind" && name != "id");
        }
        let body = record.to_string();
        write!(
            &stream,
            "PUT /bot/guilds/{id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            changes.key,
            body.len(),
        )?;
        answered(&mut answers)?;
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
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
