//! Copies of what is kept outside of the store.

use crate::node::{Node, PLENTY, grant};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Tally},
    port::{BlockList as _, ChangeFeed as _, Outside, StoreError},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{use_cases::InMemory, world::user_id};
use std::{sync::Arc, time::Duration};

/// Another store, in which others block users too.
struct Elsewhere(Arc<MemoryStorage>);

#[async_trait]
impl Outside for Elsewhere {
    async fn version(&self) -> Result<u64, StoreError> {
        Ok(self.0.latest().await?.0)
    }
}

/// A node with copies, beside whose store blocks are kept elsewhere.
async fn a_node_with_blocks_elsewhere() -> (InMemory, Arc<Node>, Arc<MemoryStorage>) {
    let (mut world, elsewhere) = (InMemory::new(), Arc::new(MemoryStorage::new()));
    world.ports.stores.blocked = elsewhere.clone();
    world.ports.stores.keep_outside(Kind::Blocked, Arc::new(Elsewhere(elsewhere.clone())));
    world.ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
    let node = Node::over(&world.ports, PLENTY);
    node.settle().await;
    (world, node, elsewhere)
}

#[tokio::test(start_paused = true)]
async fn a_block_that_was_written_outside_counts_within_a_second() {
    let (world, node, elsewhere) = a_node_with_blocks_elsewhere().await;
    let user = user_id(1);
    for blocked in [true, false, true] {
        assert_eq!(node.listing(user).await.unwrap().blocked, !blocked);
        let tally = if blocked { elsewhere.block(user).await } else { elsewhere.unblock(user).await };
        assert_ne!(tally.unwrap(), Tally::NOTHING);
        world.clock.advance(Duration::from_secs(1));
        assert_eq!(node.listing(user).await.unwrap().blocked, blocked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_that_was_written_through_the_node_counts_at_once() {
    let (_world, node, _) = a_node_with_blocks_elsewhere().await;
    assert!(!node.listing(user_id(1)).await.unwrap().blocked);
    node.stores.blocked.block(user_id(1)).await.unwrap();
    assert!(node.listing(user_id(1)).await.unwrap().blocked);
}
