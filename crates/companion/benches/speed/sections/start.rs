//! Time until the service is ready over a full database.

use super::{Plan, Report};
use crate::{
    server::get,
    service::Installation,
    table::Spread,
    table::{Table, megabytes},
    world::World,
};
use std::time::Instant;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let full =
        World { feedback: if plan.quick { 50_000 } else { 1_000_000 }, guilds: 100_000, ..World::USUAL };
    let mut table = Table::new(["stored", "ready after", "first feedback after", "memory then"]);
    let empty = World { guilds: 1, feedback: 0, users: 0, guilds_each: 0 };
    for (name, world) in [("next to nothing", empty), ("100,000 guilds and the feedback of a million", full)]
    {
        let installation = Installation::new(&world)?;
        let (mut ready, mut answered, mut memory) = (Vec::new(), Vec::new(), 0);
        for _ in 0..plan.rounds {
            let service = installation.serve()?;
            let (took, start) = (service.ready_after, Instant::now());
            while get(service.address, "/feedback", "").is_err() {
                std::thread::yield_now();
            }
            answered.push((took + start.elapsed()).as_secs_f64() * 1e3);
            ready.push(took.as_secs_f64() * 1e3);
            memory = service.resident()?;
            drop(service);
        }
        let of = |values| format!("{:.0} ms", Spread::of(values).median);
        table.row([name.to_owned(), of(ready), of(answered), megabytes(memory)]);
    }
    Ok(table.into())
}
