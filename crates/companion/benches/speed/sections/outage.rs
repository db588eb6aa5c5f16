//! Throughput of cached responses while the database is unavailable.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, Loads},
};
use crate::{
    service::{GUILDS, Installation},
    table::Table,
    world::World,
};
use xtask::postgres::Cluster;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
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
