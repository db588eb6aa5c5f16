//! The bot, reporting changes at a constant rate.

use crate::{
    arguments::Job,
    machine,
    server::one_after_another,
    service::{Installation, request},
    world::guild_named,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    io::Read as _,
    net::SocketAddr,
    process::{Child, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// Maximum number of single changes in flight.
const CONNECTIONS: u64 = 16;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Changes {
    management: SocketAddr,
    /// Number of guilds to rename.
    guilds: u64,
    /// Changes per second.
    rate: u32,
    /// Changes per request: one is a PUT, several are a sync.
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
        let changes = Changes { management: installation.management, guilds, rate, batch };
        let mut command = Job::Feed(changes).under(machine::load_core())?;
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

impl Changes {
    /// The process itself: renames guilds until its input ends, then prints the rate.
    #[expect(clippy::cast_precision_loss, reason = "far fewer changes than floating point holds exactly")]
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let (over, start) = (&AtomicBool::new(false), Instant::now());
        let Changes { management, guilds, rate, batch } = *self;
        let request = move |number: u64| {
            let first = number * batch;
            let due = start + Duration::from_secs_f64(first as f64 / f64::from(rate));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if over.load(Ordering::Relaxed) {
                None
            } else if batch == 1 {
                Some(put_guild(first, guilds))
            } else {
                let lines =
                    (first..first + batch).map(|number| format!("{}\n", changed(number, guilds, batch)));
                Some(request("POST", "/bot/sync", "", &lines.collect::<String>()))
            }
        };
        std::thread::scope(|scope| {
            let connections = if batch == 1 { CONNECTIONS } else { 1 };
            let send = |first| {
                let numbers = (first..).step_by(connections as usize);
                scope.spawn(move || one_after_another(management, numbers.map_while(request)))
            };
            let senders: Vec<_> = (0..connections).map(send).collect();
            std::io::stdin().read_to_end(&mut Vec::new())?;
            over.store(true, Ordering::Relaxed);
            let mut done = 0;
            for sender in senders {
                done += batch * sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))??;
            }
            println!("{}", done as f64 / start.elapsed().as_secs_f64());
            Ok(())
        })
    }
}

/// Returns a guild with another name for each number and size of a batch, so that no feed repeats an earlier one: what is
/// stored already is no change.
fn changed(number: u64, guilds: u64, batch: u64) -> Value {
    let guild = number.wrapping_mul(7919) % guilds;
    guild_named(guild, &format!("Harbour Town {guild}, the {number}th of {batch}"))
}

/// Returns the request that changes one guild.
pub(crate) fn put_guild(number: u64, guilds: u64) -> String {
    let mut record = changed(number, guilds, 1);
    let id = record.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(fields) = record.as_object_mut() {
        fields.retain(|name, _| name != "kind" && name != "id");
    }
    request("PUT", &format!("/bot/guilds/{id}"), "", &record.to_string())
}
