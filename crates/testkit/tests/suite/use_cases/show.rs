//! What everyone may see.

use crate::use_cases::{SECOND, Stage};
use companion_domain::{
    model::Roster,
    port::{Mutation, News, Record},
    usecase::Moment,
};
use companion_testkit::{
    use_cases::{Settings, settings},
    world::{a_feedback, a_heartbeat, a_team_member, name},
};
use std::collections::HashSet;

#[tokio::test]
async fn five_positive_entries_are_picked_or_all_where_there_are_fewer() {
    let stage = Stage::new();
    for (number, stars) in [1, 2, 3, 4, 5, 4, 5].into_iter().enumerate() {
        stage
            .use_cases
            .feed
            .records
            .put(Record::Feedback(a_feedback(&format!("f{number}"), stars)))
            .await
            .unwrap();
    }
    let picked = stage.use_cases.pick_feedback.pick().await.unwrap();
    let ids: HashSet<_> = picked.iter().map(|feedback| feedback.id.as_str()).collect();
    assert_eq!(ids, HashSet::from(["f3", "f4", "f5", "f6"]));
    for number in 10..20 {
        stage
            .use_cases
            .feed
            .records
            .put(Record::Feedback(a_feedback(&format!("f{number}"), 5)))
            .await
            .unwrap();
    }
    for _ in 0..50 {
        let picked = stage.use_cases.pick_feedback.pick().await.unwrap();
        let ids: HashSet<_> = picked.iter().map(|feedback| &feedback.id).collect();
        assert_eq!((picked.len(), ids.len()), (5, 5));
        assert!(picked.iter().all(|feedback| feedback.rating.is_positive()));
    }
}

#[tokio::test]
async fn the_team_is_shown_in_the_configured_order() {
    let stage = Stage::with(Settings { categories: vec![name("Support"), name("Board")], ..settings() });
    let members = vec![
        a_team_member(1, "Art", 0),
        a_team_member(2, "Board", 0),
        a_team_member(3, "Support", 2),
        a_team_member(4, "Support", 1),
    ];
    stage.use_cases.feed.records.write(Mutation::ReplaceTeam(Roster::new(members).unwrap())).await.unwrap();
    let team = stage.use_cases.show_team.show().await.unwrap();
    assert_eq!(team.iter().map(|member| member.user.id.get()).collect::<Vec<_>>(), [4, 3, 2, 1]);
}

#[tokio::test]
async fn a_cluster_that_has_gone_silent_no_longer_counts() {
    let stage = Stage::new();
    let now = stage.memory.ports.clock.now();
    stage.use_cases.feed.records.write(Mutation::Report(a_heartbeat("one", now))).await.unwrap();
    let report_status = &stage.use_cases.report_status;
    let clusters = report_status.clusters(None, &News::Everything).await.unwrap();
    stage.memory.clock.advance(89 * SECOND);
    let status = || report_status.report(&clusters, Moment::of(&*stage.memory.ports.clock)).0;
    assert_eq!(status().shards.len(), 1);
    stage.memory.clock.advance(SECOND);
    assert_eq!((status().shards.len(), status().uptime.readable.as_str()), (0, "not reporting"));
}
