//! The cost of logging every request.

use super::{
    Plan, Report,
    endpoints::throughput,
    endpoints::{ENDPOINTS, Loads},
};
use crate::{service::Installation, table::Spread, table::Table, world::World};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let (quiet, logging) =
        (Installation::new(&World::USUAL)?, Installation::new(&World::USUAL)?.with_access_log());
    let ((quiet_service, _), (logging_service, _)) = (quiet.serve()?, logging.serve()?);
    let mut table = Table::new(["endpoint", "with the access log / without"]);
    for (path, signed_in) in ENDPOINTS {
        let (without, with) = (
            Loads::of(&quiet, &quiet_service, path, signed_in)?,
            Loads::of(&logging, &logging_service, path, signed_in)?,
        );
        let measured = throughput(plan, &[without.service, with.service])?;
        let [without, with] = measured.as_slice() else { anyhow::bail!("nothing measured") };
        table.row([format!("`{path}`"), Spread::of_ratios(with, without).to_string()]);
    }
    Ok(Report { title: "The access log", text: table.to_string(), chart: None })
}
