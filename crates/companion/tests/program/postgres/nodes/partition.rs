//! A partition between one node and the database. `NODES` is how many nodes there are; the usual run has three.

use super::{
    super::database::Database,
    super::stage::{Node, Stage, guild, guild_of, until},
    SOON,
    line::Line,
    times::Times,
    until_each,
};
use crate::http::Answer;
use std::{
    thread,
    time::{Duration, Instant},
};

const NODES_VARIABLE: &str = "NODES";
const USUAL_NODES: usize = 3;
const LONG: Duration = Duration::from_secs(30);
/// How long a node that is cut off answers from its copies at most.
const TRUST: Duration = Duration::from_secs(10);
/// How long an answer itself may take on a busy machine.
const SLACK: Duration = Duration::from_secs(1);

fn members(answer: &Answer) -> Option<u64> {
    answer.body["data"][0]["members"].as_u64()
}

/// Whether storage is to blame, and neither the session nor the code.
fn is_unavailable(answer: &Answer) -> bool {
    answer.status == 503 && answer.body["data"]["error"] == "storage_unavailable"
}

/// A change at each of these nodes in turn, seen at all others. Gives how long each took to see each.
fn change_at_each(nodes: &[&Node], token: &str, from: u64) -> Times {
    let mut times = Times::default();
    for (turn, members_now) in (0..nodes.len()).zip(from..) {
        let path = format!("/bot/guilds/{}", guild_of(1));
        nodes[turn].manage("PUT", &path, &guild(members_now).to_string());
        times.extend(until_each(nodes, "a change", |node| {
            let answer = node.guilds(token);
            assert_eq!(answer.status, 200, "{}", answer.body);
            members(&answer) == Some(members_now)
        }));
    }
    times
}

/// How many nodes there are. `None` means the usual form.
fn nodes() -> Option<usize> {
    std::env::var(NODES_VARIABLE).ok().map(|text| text.parse().unwrap())
}

/// Asks a parted node until it refuses, which it does once its copies are too old.
fn refuses_in_time(parted: &Node, token: &str, parting: Instant) {
    let mut answered = 0;
    loop {
        let asked = parting.elapsed();
        let answer = parted.guilds(token);
        if answer.status != 200 {
            assert!(is_unavailable(&answer), "{}", answer.body);
            break;
        }
        assert!(asked < TRUST, "still answered after {asked:?}");
        answered += 1;
    }
    let after = parting.elapsed();
    println!("parted node: {answered} answers from copies, then 503 after {after:.1?}");
    assert!(after < TRUST + SLACK, "{after:?}");
}

/// The usual form ends the partition while copies still count. The tests of `companion_cache` have the end of that.
#[test]
fn a_parted_node_refuses_and_the_others_do_not_notice() {
    let (database, stage) = (Database::new(), Stage::new());
    let (full, server) = (nodes().is_some(), database.url());
    let line = Line::to(&server);
    let others = 1..nodes().unwrap_or(USUAL_NODES);
    let starting: Vec<_> = others.map(|_| stage.program(&["serve"], &server).start()).collect();
    let parted = stage.serve(&line.url(&server));
    let others: Vec<_> = starting.into_iter().map(Node::of).collect();
    let others: Vec<&Node> = others.iter().collect();
    let all: Vec<&Node> = others.iter().copied().chain([&parted]).collect();
    for node in &all {
        until("ready", LONG, || node.is_ready());
    }
    let [stays, ends] = [(); 2].map(|()| others[0].sign_in(&stage, 1));
    let whole = change_at_each(&all, &stays, 1);
    whole.tell("all nodes: from a change to every node");
    assert!(whole.worst() < SOON);
    assert_eq!(parted.guilds(&ends).status, 200);

    let parting = Instant::now();
    line.interrupt();
    others[0].sign_out(&ends);
    let code = stage.platform().mint_code(2);
    thread::scope(|scope| {
        // The others go on as if nothing had happened.
        let rest = scope.spawn(|| change_at_each(&others, &stays, 100));
        if full {
            for token in [&stays, &ends] {
                let parted = &parted;
                scope.spawn(move || refuses_in_time(parted, token, parting));
            }
        }
        let rest = rest.join().unwrap();
        rest.tell("the others during a partition: from a change to every node");
        assert!(rest.worst() < SOON);
    });
    for path in ["/", "/team", "/feedback"] {
        assert_eq!(parted.try_get(path).unwrap().status, 200, "{path}");
    }
    thread::scope(|scope| {
        scope.spawn(|| assert!(is_unavailable(&parted.post(&code))));
        scope.spawn(|| assert!(is_unavailable(&parted.try_manage("PUT", "/bot/blocked/13", "").unwrap())));
        scope.spawn(|| assert!(!parted.is_ready()));
    });
    for node in &others {
        assert!(node.is_ready());
        assert_eq!((node.guilds(&stays).status, node.guilds(&ends).status), (200, 401));
    }

    let healing = Instant::now();
    line.restore();
    let last = others[0].guilds(&stays);
    until("healed", LONG, || {
        let (ended, answer) = (parted.guilds(&ends), parted.guilds(&stays));
        assert!(ended.status == 401 || is_unavailable(&ended) || !full, "{}", ended.body);
        if answer.status != 200 {
            assert!(is_unavailable(&answer), "{}", answer.body);
            return false;
        }
        assert!(members(&answer) == members(&last) || !full, "what it missed: {}", answer.body);
        ended.status == 401 && members(&answer) == members(&last) && parted.is_ready()
    });
    println!("parted node: whole again {:.1?} after the partition ended", healing.elapsed());
    assert_eq!(others[0].post(&code).status, 200, "a code that met the partition is not spent");
    let again = change_at_each(&all, &stays, 200);
    again.tell("all nodes after the partition: from a change to every node");
    assert!(again.worst() < SOON);
}
