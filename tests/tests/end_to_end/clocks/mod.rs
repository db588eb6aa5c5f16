//! Clocks that are wrong, each on a node of its own, over one database.

mod pair;

use self::pair::{Pair, Wrong};
use companion_dev_identity::{Fault, Route};
use companion_domain::port::Clock as _;
use serde_json::Value;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const FOUR_MINUTES: Duration = Duration::from_secs(4 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const THREE_HOURS: Duration = Duration::from_secs(3 * 60 * 60);

/// Clocks that differ as clocks do, and clocks that differ as they never should.
const WRONG: [Wrong; 4] = [
    Wrong::Behind(FOUR_MINUTES),
    Wrong::Ahead(FOUR_MINUTES),
    Wrong::Behind(THREE_HOURS),
    Wrong::Ahead(THREE_HOURS),
];

/// Checks all of them at the same time: most of it is waiting for what one node does to show on the other.
async fn with_each_wrong_clock(check: impl AsyncFn(Wrong)) {
    let [one, two, three, four] = WRONG.map(|wrong| check(wrong));
    tokio::join!(one, two, three, four);
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_are_shown_by_both_nodes_whichever_took_them_and_end_by_time_alone() {
    with_each_wrong_clock(async |wrong| {
        let pair = Pair::with(wrong).await;
        let [one, other] = pair.nodes();
        one.hears("a", 1.0).await;
        other.hears("b", 2.0).await;
        for node in [one, other] {
            node.shows(3.0).await;
        }
        // The same cluster, now here and now there: the last report wins.
        for (node, memory) in [(other, 10.0), (one, 20.0), (other, 30.0)] {
            pair.pass(Duration::from_secs(1));
            node.hears("a", memory).await;
            for node in [one, other] {
                node.shows(memory + 2.0).await;
            }
        }
        pair.pass(Duration::from_secs(86));
        for node in [one, other] {
            node.shows(32.0).await;
        }
        pair.pass(Duration::from_secs(4));
        for node in [one, other] {
            assert!(node.memory().await.abs() < 0.001, "{wrong:?}: silent for ninety seconds");
        }
        pair.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_live_on_both_nodes_and_nobody_is_signed_out() {
    with_each_wrong_clock(async |wrong| {
        let pair = Pair::with(wrong).await;
        let [one, other] = pair.nodes();
        let tokens = [pair.signs_in(1, one).await, pair.signs_in(2, other).await];
        for _ in 0..3 {
            for node in [one, other, one] {
                for token in &tokens {
                    assert_eq!(node.shown(token).await.0, 1, "{wrong:?}");
                }
            }
            pair.pass(HOUR);
        }
        // Put right, and wrong again.
        let (right, odd) = (one.clock.now(), other.clock.now());
        for date in [right, odd, right] {
            other.clock.set(date);
            for (node, token) in [(one, &tokens[1]), (other, &tokens[0])] {
                assert_eq!(node.shown(token).await.0, 1, "{wrong:?}");
            }
        }
        for user in [1, 2] {
            let sessions = one.manage("GET", &format!("/sessions?user={user}"), &Value::Null).await;
            assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{wrong:?}");
        }
        pair.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_stays_ended_on_both_nodes() {
    with_each_wrong_clock(async |wrong| {
        let pair = Pair::with(wrong).await;
        let [one, other] = pair.nodes();
        let token = pair.signs_in(1, one).await;
        assert_eq!(other.shown(&token).await.0, 1);
        other.manage("DELETE", "/users/1/sessions", &Value::Null).await;
        for node in [one, other] {
            node.refuses(&token).await;
            node.clock.set(node.clock.now().before(HOUR));
            assert_eq!(node.guilds(&token).await.status, 401, "{wrong:?}");
        }
        pair.stop().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_fetched_once_more_at_most_by_a_node_whose_clock_is_wrong_and_then_when_it_is_due() {
    // Minutes behind, the list is new. Minutes ahead, it looks as old as that. By hours, its date says nothing.
    for (wrong, calls) in WRONG.into_iter().zip([1, 2, 2, 2]) {
        let pair = Pair::with(wrong).await;
        let [one, other] = pair.nodes();
        let token = pair.signs_in(1, one).await;
        assert_eq!(pair.lists(), 1);
        for _ in 0..3 {
            other.shows_a_new_list(&token).await;
        }
        assert_eq!(pair.lists(), calls, "{wrong:?}");
        pair.pass(FOUR_MINUTES + MINUTE);
        other.shows_a_new_list(&token).await;
        assert_eq!(pair.lists(), calls + 1, "{wrong:?}");
        pair.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_fetches_a_list_at_a_time_though_clocks_differ_by_minutes() {
    for wrong in [Wrong::Behind(FOUR_MINUTES), Wrong::Ahead(FOUR_MINUTES)] {
        let pair = Pair::with(wrong).await;
        let [one, other] = pair.nodes();
        let token = pair.signs_in(1, one).await;
        pair.pass(MINUTE + FOUR_MINUTES);
        let before = pair.lists();
        // Whoever asks the platform waits, so that whoever asks as well would be counted.
        pair.control.fail(Route::Guilds, Fault::Silent);
        let asked =
            tokio::join!(one.guilds(&token), other.guilds(&token), one.guilds(&token), other.guilds(&token),);
        let statuses = [asked.0.status, asked.1.status, asked.2.status, asked.3.status];
        assert_eq!(statuses, [200; 4], "{wrong:?}: the last list");
        assert_eq!(pair.lists(), before + 1, "{wrong:?}");
        pair.stop().await;
    }
}
