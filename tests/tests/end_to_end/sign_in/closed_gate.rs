//! While the platform limits us, or is left alone because it fails, nobody can make us write.

use super::{alone, stage::Stage};
use crate::{amount, served::Client};
use companion_dev_identity::{ErrorBody, Fault, Route};

/// How much was written since the start, as the metrics have it.
async fn writes(stage: &Stage) -> u64 {
    let bearer = format!("Bearer {}", stage.served.keys.management[0].expose());
    let mut client = Client::connect(stage.served.management).await;
    let page = client.send("GET", "/metrics", &[("Authorization", &bearer)]).await;
    let line = page.body.lines().find_map(|line| line.strip_prefix("companion_storage_writes_total "));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn posts_that_cannot_go_out_cost_no_durable_write() {
    let _turn = alone().await;
    let posts = amount("CLOSED_GATE_POSTS", 200);
    for (what, fault, until_closed) in [
        ("the platform limits us", Fault::Limited { retry_after: 600.0, global: true }, 1),
        ("the breaker is open", Fault::Status { status: 500, body: ErrorBody::Json }, 5),
    ] {
        let stage = Stage::new().await;
        stage.control.fail(Route::Token, fault);
        for _ in 0..until_closed {
            assert_ne!(stage.sign_in(&stage.code()).await.status, 200);
        }
        let before = writes(&stage).await;
        let mut client = Client::connect(stage.served.public).await;
        let mut refused = 0;
        for number in 0..posts {
            let answer = client.sign_in(&format!("anything-{number}")).await;
            refused += usize::from(answer.status == 503 && answer.word() == "provider_limited");
        }
        let written = writes(&stage).await - before;
        let calls = stage.control.calls(Route::Token);
        println!("{what}: {refused} of {posts} posts refused, {written} durable writes, {calls} calls");
        if until_closed == 1 {
            assert_eq!((refused, written, calls), (posts, 0, 1), "{what}");
        } else {
            // It tries again now and then, and those that try are written down.
            let tried = calls - until_closed;
            assert!(refused as u64 + tried == posts as u64 && written <= 2 * tried, "{what}");
        }
        stage.stop().await;
    }
}
