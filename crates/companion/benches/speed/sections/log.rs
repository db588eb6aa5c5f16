//! The cost of logging every request.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, ratio},
};
use crate::{service::Installation, table::Table, world::World};

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
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
