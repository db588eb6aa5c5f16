//! A user's list is fetched by one node at a time, and a node that dies at it holds nobody up.

use super::{
    super::{
        psql::psql,
        stage::{Node, account, guild, guild_of, until},
    },
    Nodes, SOON,
};
use companion_dev_identity::{Fault, Route};
use std::{
    thread,
    time::{Duration, Instant},
};

/// Every list is too old as soon as it is there.
const AT_ONCE: [(&str, &str); 1] = [("COMPANION_GUILDS__REFRESH_AFTER", "1ms")];
const ASKED_OF_EACH_NODE: usize = 4;
const LONG: Duration = Duration::from_secs(10);
/// How long a request waits for a list.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many guilds a user is shown.
fn listed(node: &Node, token: &str) -> usize {
    let answer = node.guilds(token);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].as_array().unwrap().len()
}

#[test]
fn while_one_node_fetches_a_list_no_other_does_and_all_show_the_last_one() {
    let nodes = Nodes::with(&AT_ONCE);
    let control = nodes.stage.platform();
    let tokens: Vec<_> = (1..)
        .zip(&nodes.all)
        .map(|(user, node)| {
            node.manage("PUT", &format!("/bot/guilds/{}", guild_of(user)), &guild(1).to_string());
            node.sign_in(&nodes.stage, user)
        })
        .collect();
    let before = control.calls(Route::Guilds);
    // Whoever asks the platform waits, so that whoever asks as well would be counted.
    control.fail(Route::Guilds, Fault::Silent);
    let begun = Instant::now();
    thread::scope(|scope| {
        for token in &tokens {
            for node in (0..ASKED_OF_EACH_NODE).flat_map(|_| &nodes.all) {
                scope.spawn(|| assert_eq!(listed(node, token), 1));
            }
        }
    });
    let took = begun.elapsed();
    let (users, calls) = (tokens.len(), control.calls(Route::Guilds) - before);
    let asked = users * ASKED_OF_EACH_NODE * nodes.all.len();
    println!(
        "{asked} requests for the lists of {users} users over three nodes: {calls} calls, all answered in {took:?}"
    );
    assert_eq!(calls, users as u64);
    assert!(took < 3 * SOON, "{took:?}");
}

#[test]
fn a_node_that_is_killed_while_it_fetches_a_list_holds_up_neither_its_user_nor_others() {
    let mut nodes = Nodes::with(&AT_ONCE);
    let control = nodes.stage.platform();
    let calls = || control.calls(Route::Guilds);
    let [mine, theirs] = [1, 2].map(|user| {
        nodes.all[0].manage("PUT", &format!("/bot/guilds/{}", guild_of(user)), &guild(1).to_string());
        nodes.all[0].sign_in(&nodes.stage, user)
    });
    let before = calls();
    control.fail_times(Route::Guilds, Fault::Silent, 1);
    let victim = nodes.all.remove(2);
    thread::scope(|scope| {
        // Its answer is lost, or comes just before the end.
        scope.spawn(|| victim.try_guilds(&mine));
        until("the platform is asked", LONG, || calls() > before);
        victim.running.signal("KILL");
    });
    victim.running.finish();
    // From now on the platform knows of no guild, so that a new list can be told from the last one.
    control.put_user(account(1, &[]));
    control.put_user(account(2, &[]));
    let mut took = Duration::ZERO;
    for node in &nodes.all {
        let begun = Instant::now();
        assert_eq!(listed(node, &mine), 1, "the last list");
        took = took.max(begun.elapsed());
    }
    // Nobody knows that it is dead, so it is waited for like any other that is at it.
    assert!(took < PATIENCE + SOON, "{took:?}");
    assert_eq!(calls(), before + 1, "the claim of the dead node holds");
    assert_eq!(listed(&nodes.all[0], &theirs), 0, "a new list");
    assert_eq!(calls(), before + 2);

    // A node that knows of the claim waits half a minute, and one that comes later none at all, once the claim is older
    // than clocks differ. Instead of the test, the claim grows older.
    let left = psql(
        &nodes.url(),
        "SELECT claim_until / 1000000.0 - extract(epoch FROM now()) BETWEEN 1 AND 30 FROM grants WHERE user_id = 1",
    );
    assert_eq!(left, "t");
    psql(&nodes.url(), "UPDATE grants SET claim_until = claim_until - 331000000 WHERE user_id = 1");
    assert_eq!(listed(&nodes.all[1], &mine), 0, "a new list");
    assert_eq!(calls(), before + 3);
    println!("a node killed while it fetches a list: the others answer with the last one within {took:?}");
}
