//! Latency at half of the capacity, measured from when each request was due.

use super::{
    Plan, Report,
    endpoints::{ENDPOINTS, Loads},
};
use crate::{
    load::Load,
    service::Installation,
    table::Spread,
    table::{Table, thousands},
    world::World,
};

/// Length of a round in seconds. A stall of the machine spoils no more than this.
const ROUND: f64 = 0.1;

pub(super) fn run(plan: &Plan) -> anyhow::Result<Report> {
    let installation = Installation::new(&World::USUAL)?;
    let (service, _) = installation.serve()?;
    let head =
        ["endpoint", "requests/s", "bare, median and p99", "Companion, median and p99", "ratio of p99"];
    let mut table = Table::new(head);
    for (path, signed_in) in ENDPOINTS {
        installation.report()?;
        let loads = Loads::of(&installation, &service, path, signed_in)?;
        loads.service.measure()?;
        let rate = loads.service.measure()?.per_second() / 2.0;
        let (mut medians, mut p99s) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for _ in 0..plan.turns {
            for (which, load) in [&loads.bare, &loads.service].into_iter().enumerate() {
                let paced = Load { rate: Some(rate), seconds: ROUND, ..load.clone() };
                let outcome = paced.measure()?;
                if let (Some(median), Some(p99)) = (medians.get_mut(which), p99s.get_mut(which)) {
                    median.push(outcome.median);
                    p99.push(outcome.p99);
                }
            }
        }
        let [bare, service] = &p99s;
        let ratio = Spread::of_ratios(service, bare);
        let [bare, service] = [0, 1].map(|which| {
            let of = |all: &[Vec<f64>; 2]| Spread::of(all.get(which).cloned().unwrap_or_default()).median;
            format!("{:.0} and {:.0} µs", of(&medians), of(&p99s))
        });
        table.row([format!("`{path}`"), thousands(rate), bare, service, ratio.to_string()]);
        drop(loads.bare_server);
    }
    Ok(Report { title: "At half load", text: table.to_string(), chart: None })
}
