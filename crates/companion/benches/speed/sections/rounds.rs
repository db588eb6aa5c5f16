//! Measuring several servers side by side.

use super::Plan;
use crate::load::Load;

/// How long one server is asked before it is the next one's turn, in seconds. Whatever else the machine does lasts longer, so
/// it meets all of them.
const TURN: f64 = 0.25;

/// Requests a second of each of these loads, turn by turn. The first second of each is not counted: caches fill, and compilers
/// at run time get their time.
pub(super) fn throughput(plan: &Plan, loads: &[Load]) -> anyhow::Result<Vec<Vec<f64>>> {
    for load in loads {
        load.measure()?;
    }
    let mut measured = vec![Vec::new(); loads.len()];
    for turn in 0..plan.turns {
        let mut order: Vec<_> = loads.iter().zip(&mut measured).collect();
        if turn % 2 == 1 {
            order.reverse();
        }
        for (load, measured) in order {
            measured.push(Load { seconds: TURN, ..load.clone() }.measure()?.per_second());
        }
    }
    Ok(measured)
}
