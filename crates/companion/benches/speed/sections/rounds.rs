//! Measuring several servers side by side.

use super::Plan;
use crate::load::Load;

/// Requests a second of each of these loads, round by round. The first second of each is not counted: caches fill, and
/// compilers at run time get their time.
pub(super) fn throughput(plan: &Plan, loads: &[Load]) -> anyhow::Result<Vec<Vec<f64>>> {
    for load in loads {
        load.measure()?;
    }
    let mut measured = vec![Vec::new(); loads.len()];
    for _ in 0..plan.rounds {
        for (load, measured) in loads.iter().zip(&mut measured) {
            measured.push(Load { seconds: plan.seconds, ..load.clone() }.measure()?.per_second());
        }
    }
    Ok(measured)
}
