//! Circles in a graph.

use std::collections::BTreeSet;

use super::module::{Module, Needs};

/// All circles: for each, those who can all reach each other.
pub(super) fn circles(needs: &Needs) -> Vec<Vec<Module>> {
    let reach = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            for target in needs.get(module).into_iter().flatten() {
                if seen.insert(target) {
                    next.push(target);
                }
            }
        }
        seen
    };
    let reached: Vec<_> = needs.keys().map(|module| (module, reach(module))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (module, targets) in &reached {
        let others = reached.iter().filter(|(other, theirs)| {
            other == module || (targets.contains(other) && theirs.contains(module))
        });
        let circle: Vec<_> = others.map(|(other, _)| (*other).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}
