//! Two nodes with copies over one store: the ports behave as those of the store itself.

use crate::node::{Node, PLENTY};
use companion_testkit::{
    conformance::{Fresh, Stores},
    use_cases::InMemory,
};
use std::sync::Arc;

async fn two_nodes(memory: u64) -> Fresh<Stores> {
    let world = InMemory::new();
    let nodes = [Node::over(&world.ports, memory), Node::over(&world.ports, memory)];
    for node in &nodes {
        node.settle().await;
    }
    let [one, other] = nodes.clone().map(|node| Arc::new(node.stores.clone()));
    let settle = move || {
        let nodes = nodes.clone();
        async move {
            // What one has gathered has to be written before the other can learn of it.
            for node in nodes.iter().chain(&nodes) {
                node.settle().await;
            }
        }
    };
    Fresh::new(one).with_other(other).settling(settle).keeping(world)
}

mod with_room {
    companion_testkit::storage_conformance!(super::two_nodes(super::PLENTY).await);
}

/// So little room that copies come and go all the time.
mod with_hardly_any_room {
    companion_testkit::storage_conformance!(super::two_nodes(16 << 10).await);
}
