//! Throughput of cached responses while the database is unavailable.

use super::{
    Plan, Report,
    endpoints::throughput,
    endpoints::{ENDPOINTS, Loads},
};
use crate::{service::Installation, table::Spread, table::Table, world::World};
use xtask::postgres::Cluster;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    if !xtask::postgres::is_installed() {
        let text = "Skipped: there is no PostgreSQL to be stopped.\n".to_owned();
        return Ok(Report { title: "Without a database", text, chart: None });
    }
    let cluster = Cluster::start()?;
    let installation = Installation::within(&cluster.url("postgres"), &World::USUAL)?;
    let (service, _) = installation.serve()?;
    installation.report()?;
    let public: Vec<_> = ENDPOINTS.into_iter().filter(|(_, signed_in)| !signed_in).collect();
    let ratios = |table: &mut Vec<String>| -> anyhow::Result<()> {
        for (path, signed_in) in &public {
            let loads = Loads::of(&installation, &service, path, *signed_in)?;
            let measured = throughput(plan, &[loads.bare, loads.service])?;
            let [bare, service] = measured.as_slice() else { anyhow::bail!("nothing measured") };
            table.push(Spread::of_ratios(service, bare).to_string());
            drop(loads.bare_server);
        }
        Ok(())
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    ratios(&mut before)?;
    drop(cluster);
    ratios(&mut after)?;
    let mut table = Table::new(["endpoint", "Companion / bare", "with PostgreSQL stopped"]);
    for ((path, _), (before, after)) in public.iter().zip(before.into_iter().zip(after)) {
        table.row([format!("`{path}`"), before, after]);
    }
    Ok(Report { title: "Without a database", text: table.to_string(), chart: None })
}
