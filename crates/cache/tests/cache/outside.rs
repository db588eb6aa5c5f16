//! What is kept outside of the store is never copied.

use crate::node::{Node, PLENTY, grant};
use companion_domain::{
    change::{Key, Kind},
    port::{ApplyError, Record, Records as _},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    use_cases::InMemory,
    world::{a_guild, user_id},
};
use std::sync::Arc;

/// A node with copies that reads blocks and guilds elsewhere.
async fn a_node_beside(elsewhere: &Arc<MemoryStorage>) -> Arc<Node> {
    let mut ports = InMemory::new().ports;
    ports.stores.grants.replace(user_id(1), &grant(&[1])).await.unwrap();
    ports.stores = ports.stores.with_blocked(elsewhere.clone()).with_guilds(elsewhere.clone());
    let node = Node::over(&ports, PLENTY);
    node.settle().await;
    node
}

#[tokio::test(start_paused = true)]
async fn what_changes_outside_shows_at_once() {
    let elsewhere = Arc::new(MemoryStorage::new());
    let node = a_node_beside(&elsewhere).await;
    let (block, guild) = (Key::Blocked(user_id(1)), a_guild(1));
    for there in [true, false, true] {
        if there {
            elsewhere.put(Record::Blocked(user_id(1))).await.unwrap();
            elsewhere.put(Record::Guild(guild.clone())).await.unwrap();
        } else {
            elsewhere.remove(block.clone()).await.unwrap();
            elsewhere.remove(Key::Guild(guild.id)).await.unwrap();
        }
        let listing = node.listing(user_id(1)).await.unwrap();
        assert_eq!((listing.blocked, listing.guilds.len()), (there, usize::from(there)));
        assert!(node.stores.listings().at_hand(user_id(1)).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_outside_is_not_written_through_the_node() {
    let node = a_node_beside(&Arc::new(MemoryStorage::new())).await;
    let refused = node.stores.records.put(Record::Blocked(user_id(1))).await.unwrap_err();
    assert!(matches!(refused, ApplyError::KeptElsewhere(Kind::Blocked)), "{refused}");
    assert!(!node.listing(user_id(1)).await.unwrap().blocked);
}
