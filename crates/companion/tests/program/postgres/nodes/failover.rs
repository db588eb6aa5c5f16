//! A standby takes over that lacks what the nodes have seen.

use super::{
    super::{
        psql::psql,
        stage::{Node, Stage, guild, until},
    },
    SOON,
};
use std::time::Duration;
use xtask::postgres::{Cluster, Shutdown};

const LONG: Duration = Duration::from_secs(20);

/// Everything of a server's address before the database.
fn authority(cluster: &Cluster) -> String {
    cluster.url("").trim_end_matches('/').to_owned()
}

/// What is committed from now on never reaches the standby.
fn cut_off(standby: &str) {
    psql(standby, "ALTER SYSTEM SET primary_conninfo = ''");
    psql(standby, "SELECT pg_reload_conf()");
    until("cut off", LONG, || psql(standby, "SELECT count(*) FROM pg_stat_wal_receiver") == "0");
}

#[test]
fn after_a_failover_that_repeats_revisions_nobody_is_let_in_by_a_copy() {
    let (mut primary, stage) = (Cluster::start().unwrap(), Stage::new());
    let mut standby = primary.standby().unwrap();
    let second = authority(&standby).split_once('@').unwrap().1.to_owned();
    let both = format!("{},{second}/postgres", authority(&primary));
    let [one, other] = [(); 2].map(|()| stage.serve(&both));
    let nodes: [&Node; 2] = [&one, &other];
    for node in nodes {
        until("ready", LONG, || node.is_ready());
    }

    let kept = one.sign_in(&stage, 1);
    let follower = standby.url("postgres");
    until("caught up", LONG, || psql(&follower, "SELECT count(*) FROM sessions") == "1");
    cut_off(&follower);
    let lost = one.sign_in(&stage, 2);
    for node in nodes {
        assert_eq!([&kept, &lost].map(|token| node.guilds(token).status), [200, 200]);
    }

    // One of them hears of nothing until the new server has made more changes than were lost.
    one.running.signal("STOP");
    primary.stop(Shutdown::Immediate).unwrap();
    standby.promote().unwrap();
    let body = guild(1).to_string();
    let written = |id: u64| other.try_manage("PUT", &format!("/bot/guilds/{id}"), &body);
    until("found", LONG, || written(1).is_some_and(|answer| answer.status == 200));
    other.sign_out(&kept);
    for id in 2..=20 {
        assert_eq!(written(id).unwrap().status, 200);
    }
    one.running.signal("CONT");
    until("found", LONG, || one.is_ready());
    for token in [&kept, &lost] {
        for node in nodes {
            until("refused", SOON, || node.guilds(token).status == 401);
        }
    }
    // Whoever comes anew is served by both, and at once.
    let token = one.sign_in(&stage, 2);
    for node in nodes {
        assert_eq!(node.guilds(&token).status, 200);
        assert_eq!([&kept, &lost].map(|token| node.guilds(token).status), [401, 401]);
    }
}
