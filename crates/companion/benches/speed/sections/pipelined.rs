//! Sixteen requests at once on each connection: the system's calls weigh less, and what the server itself does weighs more.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, Loads},
    rounds::throughput,
};
use crate::{load::Load, service::Installation, statistics::Spread, table::Table, world::World};

const DEPTH: usize = 16;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let installation = Installation::new(&World::USUAL)?;
    let (service, _) = installation.serve()?;
    let mut table = Table::new(["endpoint", "Companion / bare"]);
    for (path, signed_in) in ENDPOINTS {
        installation.report()?;
        let loads = Loads::of(&installation, &service, path, signed_in)?;
        let deep = [loads.bare, loads.service].map(|load| Load { depth: DEPTH, ..load });
        let measured = throughput(plan, &deep)?;
        let [bare, service] = measured.as_slice() else { anyhow::bail!("nothing measured") };
        table.row([format!("`{path}`"), Spread::of_ratios(service, bare).to_string()]);
        drop(loads.bare_server);
    }
    Ok(Report { title: "Pipelined, sixteen deep", text: table.to_string(), chart: None })
}
