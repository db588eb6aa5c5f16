//! Throughput of the service as a share of a bare server's, under conditions that make it slower.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, Loads, ratio},
};
use crate::{
    feed::Feed,
    service::{GUILDS, Installation},
    table::Table,
    world::World,
};
use xtask::postgres::Cluster;

/// Changes per second.
const RATE: u32 = 500;
/// Changes per request of a kit: those of two seconds.
const GATHERED: u64 = 1000;

/// Measures the throughput of guild listings while the bot changes five hundred of a hundred thousand guilds per second, one by one
/// and as the kits do.
pub(super) fn busy(plan: &Plan) -> anyhow::Result<Report> {
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

/// Measures the throughput of cached responses while the database is unavailable.
pub(super) fn outage(plan: &Plan) -> anyhow::Result<Report> {
    if !xtask::postgres::is_installed() {
        let text = "Skipped: there is no PostgreSQL to be stopped.\n".to_owned();
        return Ok(Report { text, chart: None });
    }
    let cluster = Cluster::start()?;
    let installation = Installation::within(&cluster.url("postgres"), &World::USUAL)?;
    let service = installation.serve()?;
    installation.report()?;
    let public = ENDPOINTS.into_iter().filter(|path| *path != GUILDS);
    let shares = || -> anyhow::Result<Vec<_>> {
        public.clone().map(|path| Loads::of(&installation, &service, path)?.share(plan)).collect()
    };
    let before = shares()?;
    drop(cluster);
    let after = shares()?;
    let mut table = Table::new(["endpoint", "Companion / bare", "with PostgreSQL stopped"]);
    for ((path, before), after) in public.zip(before).zip(after) {
        table.row([format!("`{path}`"), before.to_string(), after.to_string()]);
    }
    Ok(table.into())
}

/// Measures the cost of logging every request.
pub(super) fn log(plan: &Plan) -> anyhow::Result<Report> {
    let (quiet, logging) =
        (Installation::new(&World::USUAL)?, Installation::new(&World::USUAL)?.with_access_log());
    let (quiet_service, logging_service) = (quiet.serve()?, logging.serve()?);
    let mut table = Table::new(["endpoint", "with the access log / without"]);
    for path in ENDPOINTS {
        let (without, with) = (quiet.load(&quiet_service, path), logging.load(&logging_service, path));
        table.row([format!("`{path}`"), ratio(plan, &with, &without)?.to_string()]);
    }
    Ok(table.into())
}
