//! Cost as a function of the amount of stored data.

use super::{Plan, Report, endpoints::Loads};
use crate::{
    callgrind,
    load::Load,
    page::Chart,
    service::{GUILDS, Installation},
    table::{Table, thousands},
    world::World,
};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let mut chart = Chart::new("The share of a bare server, as the world grows", 1.0);
    let mut table = Table::new(["what grows", "how many", "Companion / bare", "instructions"]);
    let million = if plan.quick { 30_000 } else { 1_000_000 };
    let feedback = [1000, million].map(|feedback| (feedback, World { feedback, ..World::USUAL }));
    let guilds = [1, 10, 50, 200].map(|each| (each, World { guilds_each: each, ..World::USUAL }));
    let sessions = [1, 1000, million].map(|users| (users, World { users, guilds: 100_000, ..World::USUAL }));
    for (what, path, worlds) in [
        ("feedback", "/feedback", feedback.as_slice()),
        ("guilds of a user", GUILDS, guilds.as_slice()),
        ("live sessions", GUILDS, sessions.as_slice()),
    ] {
        for (count, world) in worlds {
            let installation = Installation::new(world)?;
            let service = installation.serve()?;
            installation.wait_for_feedback()?;
            let loads = Loads::of(&installation, &service, path)?;
            if path == GUILDS {
                loads.warm_up()?;
            }
            let share = loads.share(plan)?;
            chart.bar(what, &count.to_string(), share.median);
            let load = loads.service.clone();
            drop((loads, service));
            let instructions = thousands(instructions(&installation, &load)?);
            table.row([what.to_owned(), count.to_string(), share.to_string(), instructions]);
        }
    }
    Ok(Report { text: table.to_string(), chart: Some(chart) })
}

/// Number of users while instructions are counted. A million users would take half an hour under valgrind.
const ASKING: usize = 1000;

/// Returns the instructions of a request by a user whose data is cached.
#[expect(clippy::cast_precision_loss, reason = "far fewer requests than floating point holds exactly")]
fn instructions(installation: &Installation, load: &Load) -> anyhow::Result<f64> {
    let (result, some) = (installation.file("callgrind"), installation.file("some-tokens"));
    let tokens = std::fs::read_to_string(&installation.world.tokens)?;
    std::fs::write(&some, tokens.lines().take(ASKING).collect::<Vec<_>>().join("\n"))?;
    let server = installation.serve_under(callgrind::watching(&result, false))?;
    installation.wait_for_feedback()?;
    let tokens = load.tokens.is_some().then_some(some);
    let load = Load { tokens, connections: 1, seconds: 5.0, ..load.clone() };
    for _ in 0..2 {
        Load { once: true, ..load.clone() }.measure()?;
    }
    callgrind::count(&server, true)?;
    let outcome = load.measure()?;
    callgrind::count(&server, false)?;
    drop(server);
    Ok(callgrind::instructions(&result)? / outcome.requests as f64)
}
