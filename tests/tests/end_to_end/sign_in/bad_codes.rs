//! Codes that nobody gave out cannot be used to make us a nuisance to the platform, which would ban us for it.

use super::{alone, stage::Stage};
use crate::{amount, served::Client};
use companion_dev_identity::Route;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const CONNECTIONS: usize = 64;
/// What one node may cost the platform in a minute.
const CALLS_PER_MINUTE: u64 = 300;
const MINUTE: Duration = Duration::from_secs(60);

/// What became of a stretch of posts.
#[derive(Default)]
struct Outcome {
    answers: BTreeMap<(u16, String), usize>,
    within_a_minute: usize,
}

async fn post_bad_codes(stage: &Stage, total: usize, begun: Instant) -> Outcome {
    let next = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(stage.served.public).await;
        let next = Arc::clone(&next);
        connections.spawn(async move {
            let mut outcome = Outcome::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    return outcome;
                }
                let answer = client.sign_in(&format!("made-up-{number}")).await;
                let waiting = answer.header("Retry-After").is_some();
                assert_eq!(waiting, answer.status != 401, "{}", answer.head);
                *outcome.answers.entry((answer.status, answer.word())).or_default() += 1;
                outcome.within_a_minute += usize::from(begun.elapsed() < MINUTE);
            }
        });
    }
    let mut all = Outcome::default();
    for outcome in connections.join_all().await {
        for (answer, times) in outcome.answers {
            *all.answers.entry(answer).or_default() += times;
        }
        all.within_a_minute += outcome.within_a_minute;
    }
    all
}

/// Posts them, and says how many calls went out.
async fn flood(stage: &Stage, total: usize) {
    let begun = Instant::now();
    let Outcome { answers, within_a_minute } = post_bad_codes(stage, total, begun).await;
    let took = begun.elapsed();
    let calls = stage.control.calls(Route::Token);
    println!(
        "{total} bad codes in {:.1} s ({within_a_minute} in the first minute): {answers:?}, outbound token calls {calls}",
        took.as_secs_f64()
    );
    let known = [(401, "idp_code_invalid"), (429, "rate_limited"), (503, "provider_limited")];
    for (status, word) in answers.keys() {
        assert!(known.contains(&(*status, word)), "{status} {word}");
    }
    assert_eq!(answers.values().sum::<usize>(), total);
    // A slow machine may need more than one minute for all of them, and every minute has its own budget.
    let minutes = took.as_secs() / MINUTE.as_secs() + 1;
    assert!(calls <= CALLS_PER_MINUTE * minutes, "{calls} calls in {minutes} minutes");
    assert!(calls > 0, "nothing was tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_codes_from_everywhere_cost_the_platform_three_hundred_calls_a_minute_at_most() {
    let _turn = alone().await;
    // As if every post came from another address: only the budget of the node is left to stop them.
    let stage = Stage::with(&[("COMPANION_LIMITS__REFUSED_CODES_PER_MINUTE", "1000000000")]).await;
    flood(&stage, amount("BAD_CODES", 1000)).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_codes_from_one_address_cost_the_platform_no_more_than_that() {
    let _turn = alone().await;
    let stage = Stage::new().await;
    flood(&stage, 1000).await;
    stage.stop().await;
}
