//! Memory: idle, under load, and with a session in use for each of many users.

use super::{Plan, Report, endpoints::ENDPOINTS};
use crate::{
    load::Load,
    service::Installation,
    table::{Table, megabytes},
    world::World,
};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let mut table = Table::new(["state", "memory", "above idle"]);
    let installation = Installation::new(&World::USUAL)?;
    let (service, _) = installation.serve()?;
    let idle = service.resident()?;
    let mut row = |state: &str, bytes: u64| {
        table.row([state.to_owned(), megabytes(bytes), megabytes(bytes.saturating_sub(idle))]);
    };
    row("idle", idle);
    for (path, signed_in) in ENDPOINTS {
        let tokens = signed_in.then(|| installation.world.tokens.clone());
        let load =
            Load { tokens, seconds: plan.seconds, connections: 256, ..Load::new(service.address, path) };
        load.measure()?;
    }
    row("after load on every endpoint, 256 connections", service.resident()?);
    drop(service);
    for users in if plan.quick { vec![10_000] } else { vec![10_000, 100_000, 1_000_000] } {
        let installation = Installation::new(&World { users, guilds: 100_000, ..World::USUAL })?;
        let (service, _) = installation.serve()?;
        let tokens = Some(installation.world.tokens.clone());
        let load = Load { tokens, once: true, ..Load::new(service.address, "/guilds") };
        load.measure()?;
        row(&format!("{users} sessions in use, ten guilds each"), service.resident()?);
    }
    Ok(Report { title: "Memory", text: table.to_string(), chart: None })
}
