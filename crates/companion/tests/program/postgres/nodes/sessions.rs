//! Sessions are of all nodes at once, and end on all of them.

use super::{super::stage::Node, Nodes, SOON, silence::Silence, times::Times, until_each};
const ROUNDS: usize = 6;

/// Ends a user's session in the ways that there are, one after the other.
fn end(node: &Node, way: usize, user: usize, token: &str) {
    match way % 4 {
        0 => node.sign_out(token),
        1 => drop(node.manage("DELETE", &format!("/users/{user}/sessions"), "")),
        2 => {
            let sessions = node.manage("GET", &format!("/sessions?user={user}"), "");
            let id = sessions[0]["id"].as_str().unwrap();
            node.manage("DELETE", &format!("/sessions/{id}"), "");
        }
        _ => drop(node.manage("DELETE", &format!("/users/{user}"), "")),
    }
}

/// How long after the end of a session on one node the others refuse it.
fn ends(nodes: &Nodes) -> Times {
    let mut times = Times::default();
    for round in 0..ROUNDS {
        let user = round + 1;
        let (one, others) = nodes.split(round);
        let token = one.sign_in(&nodes.stage, user as u64);
        for node in &nodes.all {
            assert_eq!(node.guilds(&token).status, 200, "a session is known with the very next request");
        }
        end(one, round, user, &token);
        assert_eq!(one.guilds(&token).status, 401, "the node itself never lags behind");
        times.extend(until_each(&others, "refused", |node| node.guilds(&token).status == 401));
        for node in &nodes.all {
            assert_eq!(node.guilds(&token).status, 401, "what ended stays ended");
        }
    }
    times
}

#[test]
fn a_session_is_known_on_every_node_at_once_and_ends_on_all_within_a_second() {
    let nodes = Nodes::alone();
    let announced = ends(&nodes);
    announced.tell("session ended, refused by the other nodes");
    let silence = Silence::over(&nodes);
    let silent = ends(&nodes);
    drop(silence);
    silent.tell("the same, no announcement heard");
    assert!(announced.worst() < SOON && silent.worst() < SOON);
}
