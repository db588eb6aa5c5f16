//! Throughput of guild listings while the bot changes five hundred of a hundred thousand guilds per second, one by one
//! and as the kits do.

use super::{Plan, Report, endpoints::Loads, endpoints::throughput};
use crate::{feed::Feed, service::Installation, table::Spread, table::Table, world::World};

/// Changes per second.
const RATE: u32 = 500;
/// Changes per request of a kit: those of two seconds.
const GATHERED: u64 = 1000;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let world = World { guilds: 100_000, users: 10_000, ..World::USUAL };
    let installation = Installation::new(&world)?;
    let (service, _) = installation.serve()?;
    let mut table = Table::new(["while the bot is", "Companion / bare", "changes a second"]);
    let loads = Loads::of(&installation, &service, "/guilds", true)?;
    loads.warm_up()?;
    let both = [loads.bare, loads.service];
    let ratio = |measured: &[Vec<f64>]| match measured {
        [bare, service] => Ok(Spread::of_ratios(service, bare).to_string()),
        _ => Err(anyhow::anyhow!("nothing measured")),
    };
    table.row(["quiet".to_owned(), ratio(&throughput(plan, &both)?)?, "0".to_owned()]);
    for (name, batch) in [("busy, one change per request", 1), ("busy, as the kits send changes", GATHERED)] {
        let feed = Feed::start(&installation, world.guilds, RATE, batch)?;
        let busy = throughput(plan, &both)?;
        table.row([name.to_owned(), ratio(&busy)?, format!("{:.0}", feed.stop()?)]);
    }
    drop(loads.bare_server);
    Ok(Report { title: "While the bot is busy", text: table.to_string(), chart: None })
}
