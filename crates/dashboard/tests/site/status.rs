//! The page of the status.

use crate::browser::{Site, html};
use companion_domain::{
    model::{Heartbeat, Number, Shard, ShardId, Shards},
    port::{Clock as _, Mutation},
};
use companion_testkit::world::a_heartbeat;
use std::time::Duration;

fn slow(heartbeat: Heartbeat, shard: u32) -> Heartbeat {
    let record = Shard {
        heartbeat_sent: Number::Integer(1),
        heartbeat_acknowledged: Number::Integer(2),
        latency: Number::fraction(712.4).unwrap(),
    };
    Heartbeat { shards: Shards::new([(ShardId::new(shard), record)].into()).unwrap(), ..heartbeat }
}

#[actix_web::test]
async fn clusters_and_shards_are_shown_and_a_silent_one_as_silent_since_when() {
    let site = Site::new().await;
    assert!(html(&site.get("/status").await).contains("As soon as the bot reports"));
    let now = || site.memory.clock.now();
    site.use_cases.feed.records.write(Mutation::Report(a_heartbeat("first", now()))).await.unwrap();
    site.memory.clock.advance(Duration::from_secs(60));
    site.use_cases.feed.records.write(Mutation::Report(slow(a_heartbeat("second", now()), 7))).await.unwrap();
    let page = html(&site.get("/status").await);
    assert!(page.contains("Night Watch is online: 2 shards."), "{page}");
    assert!(page.contains(">50 ms</td>") && page.contains(">712 ms</td>"));
    assert!(page.contains(">slow<"));

    site.memory.clock.advance(Duration::from_secs(60));
    let page = html(&site.get("/status").await);
    assert!(page.contains("partly online: 1 of 2 clusters report"), "{page}");
    assert!(page.contains("Last heard of <time datetime=") && page.contains(">2 minutes ago<"), "{page}");

    site.memory.clock.advance(Duration::from_secs(600));
    let page = html(&site.get("/status").await);
    assert!(page.contains("silent: last heard of 11 minutes ago"), "{page}");
    assert!(page.contains("Silent since <time"));
    assert!(!page.contains(">well<") && !page.contains(">reporting<"));
}
