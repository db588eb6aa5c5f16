//! Latency at half of the capacity, measured from when each request was due.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, Loads},
};
use crate::{
    load::{Load, Outcome},
    service::Installation,
    table::{Spread, Table, thousands},
    world::World,
};

/// Length of a round in seconds. A stall of the machine spoils no more than this.
const ROUND: f64 = 0.1;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let installation = Installation::new(&World::USUAL)?;
    let service = installation.serve()?;
    let head =
        ["endpoint", "requests/s", "bare, median and p99", "Companion, median and p99", "ratio of p99"];
    let mut table = Table::new(head);
    for path in ENDPOINTS {
        installation.report()?;
        let loads = Loads::of(&installation, &service, path)?;
        loads.service.measure()?;
        let rate = loads.service.measure()?.per_second() / 2.0;
        let mut outcomes = [Vec::new(), Vec::new()];
        for _ in 0..plan.turns {
            for (load, outcomes) in [&loads.bare, &loads.service].into_iter().zip(&mut outcomes) {
                outcomes.push(Load { rate: Some(rate), seconds: ROUND, ..load.clone() }.measure()?);
            }
        }
        let p99 = |outcomes: &Vec<Outcome>| outcomes.iter().map(|outcome| outcome.p99).collect::<Vec<_>>();
        let latencies = |outcomes: &Vec<Outcome>| {
            let medians = outcomes.iter().map(|outcome| outcome.median).collect();
            let [median, p99] = [medians, p99(outcomes)].map(|all| Spread::of(all).median);
            format!("{median:.0} and {p99:.0} µs")
        };
        let [bare, service] = &outcomes;
        let ratio = Spread::of_ratios(&p99(service), &p99(bare)).to_string();
        table.row([format!("`{path}`"), thousands(rate), latencies(bare), latencies(service), ratio]);
    }
    Ok(table.into())
}
