//! How cost grows with what is stored.

use super::{Plan, Report, endpoints::Loads, rounds::throughput};
use crate::{page::Chart, service::Installation, statistics::Spread, table::Table, world::World};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let mut chart = Chart::new("The share of a bare server, as the world grows", 1.0);
    let mut table = Table::new(["what grows", "how many", "Companion / bare"]);
    let million = if plan.quick { 30_000 } else { 1_000_000 };
    let feedback = [1000, million].map(|feedback| (feedback, World { feedback, ..World::USUAL }));
    let guilds = [1, 10, 50, 200].map(|each| (each, World { guilds_each: each, ..World::USUAL }));
    let sessions = [1, 1000, million].map(|users| (users, World { users, guilds: 100_000, ..World::USUAL }));
    for (what, path, worlds) in [
        ("feedback", "/feedback", feedback.as_slice()),
        ("guilds of a user", "/guilds", guilds.as_slice()),
        ("live sessions", "/guilds", sessions.as_slice()),
    ] {
        for (count, world) in worlds {
            let installation = Installation::new(world)?;
            let (service, _) = installation.serve()?;
            installation.wait_for_feedback()?;
            let loads = Loads::of(&installation, &service, path, path == "/guilds")?;
            if path == "/guilds" {
                loads.warm_up()?;
            }
            let measured = throughput(plan, &[loads.bare, loads.service])?;
            let [bare, service] = measured.as_slice() else { anyhow::bail!("nothing measured") };
            let ratio = Spread::of_ratios(service, bare);
            chart.bar(what, &count.to_string(), ratio.median);
            table.row([what.to_owned(), count.to_string(), ratio.to_string()]);
            drop(loads.bare_server);
        }
    }
    Ok(Report { title: "As the world grows", text: table.to_string(), chart: Some(chart) })
}
