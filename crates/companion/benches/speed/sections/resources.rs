//! What the service takes: memory, and time to start.

use super::{Plan, Report, endpoints::ENDPOINTS};
use crate::{
    load::Load,
    server::get,
    service::{GUILDS, Installation},
    table::{Spread, Table, megabytes},
    world::World,
};
use std::time::Instant;

/// Measures memory: idle, under load, and with a session in use for each of many users.
pub(super) fn memory(plan: &Plan) -> anyhow::Result<Report> {
    let mut table = Table::new(["state", "memory", "above idle"]);
    let installation = Installation::new(&World::USUAL)?;
    let service = installation.serve()?;
    let idle = service.resident()?;
    let mut row = |state: &str, bytes: u64| {
        table.row([state.to_owned(), megabytes(bytes), megabytes(bytes.saturating_sub(idle))]);
    };
    row("idle", idle);
    for path in ENDPOINTS {
        let load = installation.load(&service, path);
        Load { seconds: plan.seconds, connections: 256, ..load }.measure()?;
    }
    row("after load on every endpoint, 256 connections", service.resident()?);
    drop(service);
    for users in if plan.quick { vec![10_000] } else { vec![10_000, 100_000, 1_000_000] } {
        let installation = Installation::new(&World { users, guilds: 100_000, ..World::USUAL })?;
        let service = installation.serve()?;
        Load { once: true, ..installation.load(&service, GUILDS) }.measure()?;
        row(&format!("{users} sessions in use, ten guilds each"), service.resident()?);
    }
    Ok(table.into())
}

/// Measures the time until the service is ready over a full database.
pub(super) fn start(plan: &Plan) -> anyhow::Result<Report> {
    let full =
        World { feedback: if plan.quick { 50_000 } else { 1_000_000 }, guilds: 100_000, ..World::USUAL };
    let mut table = Table::new(["stored", "ready after", "first feedback after", "memory then"]);
    let empty = World { guilds: 1, feedback: 0, users: 0, guilds_each: 0 };
    for (name, world) in [("next to nothing", empty), ("100,000 guilds and the feedback of a million", full)]
    {
        let installation = Installation::new(&world)?;
        let (mut ready, mut answered, mut memory) = (Vec::new(), Vec::new(), 0);
        for _ in 0..plan.rounds {
            let service = installation.serve()?;
            let (took, start) = (service.ready_after, Instant::now());
            while get(service.address, "/feedback", "").is_err() {
                std::thread::yield_now();
            }
            answered.push((took + start.elapsed()).as_secs_f64() * 1e3);
            ready.push(took.as_secs_f64() * 1e3);
            memory = service.resident()?;
            drop(service);
        }
        let of = |values| format!("{:.0} ms", Spread::of(values).median);
        table.row([name.to_owned(), of(ready), of(answered), megabytes(memory)]);
    }
    Ok(table.into())
}
