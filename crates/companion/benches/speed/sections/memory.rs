//! Memory: idle, under load, and with a session in use for each of many users.

use super::{Plan, Report, endpoints::ENDPOINTS};
use crate::{
    load::Load,
    service::{GUILDS, Installation},
    table::{Table, megabytes},
    world::World,
};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
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
