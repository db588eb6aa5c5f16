//! Throughput of guild listings while the bot changes five hundred of a hundred thousand guilds per second, one by one
//! and as the kits do.

use super::{Plan, Report, endpoints::Loads};
use crate::{
    feed::Feed,
    service::{GUILDS, Installation},
    table::Table,
    world::World,
};

/// Changes per second.
const RATE: u32 = 500;
/// Changes per request of a kit: those of two seconds.
const GATHERED: u64 = 1000;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let world = World { guilds: 100_000, users: 10_000, ..World::USUAL };
    let installation = Installation::new(&world)?;
    let service = installation.serve()?;
    let mut table = Table::new(["while the bot is", "Companion / bare", "changes a second"]);
    let loads = Loads::of(&installation, &service, GUILDS)?;
    loads.warm_up()?;
    table.row(["quiet".to_owned(), loads.share(plan)?.to_string(), "0".to_owned()]);
    for (name, batch) in [("busy, one change per request", 1), ("busy, as the kits send changes", GATHERED)] {
        let feed = Feed::start(&installation, world.guilds, RATE, batch)?;
        let busy = loads.share(plan)?;
        table.row([name.to_owned(), busy.to_string(), format!("{:.0}", feed.stop()?)]);
    }
    Ok(table.into())
}
