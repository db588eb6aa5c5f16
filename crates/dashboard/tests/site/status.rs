//! The status: the page, `/status.json` and the badge.

use crate::browser::{Browser, Site, html};
use companion_domain::{
    model::{
        Heartbeat, Notice, NoticeKind, Number, Period, PeriodChange, PeriodSubject, Shard, ShardCount,
        ShardId, Shards, Silence,
    },
    port::{Clock as _, Mutation, Record},
};
use companion_testkit::world::{a_guild, a_heartbeat, an_ownership};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Reports a cluster whose shards have these latencies, of so many shards in all.
async fn report(site: &Site, cluster: &str, shards: &[(u32, i64)], count: u64) {
    let now = site.memory.clock.now();
    let shard = |(id, latency): &(u32, i64)| {
        let sent = Number::Integer(now.seconds());
        let latency = Number::Integer(*latency);
        (ShardId::new(*id), Shard { heartbeat_sent: sent, heartbeat_acknowledged: sent, latency })
    };
    let report = Heartbeat {
        shards: Shards::new(shards.iter().map(shard).collect()).unwrap(),
        shard_count: ShardCount::new(count).ok(),
        sent_at: None,
        ..a_heartbeat(cluster, now)
    };
    site.write(Mutation::Report(report)).await;
}

async fn status_json(site: &Site) -> Value {
    let answer = site.get("/status.json").await;
    assert_eq!(answer.header("cache-control"), "max-age=30");
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.header("cross-origin-resource-policy"), "cross-origin");
    serde_json::from_slice(&answer.body).unwrap()
}

#[actix_web::test]
async fn names_the_worst_shard_in_one_sentence() {
    let site = Site::new().await;
    let page = html(&site.get("/status").await);
    assert!(
        page.contains("Night Watch has not reported yet.") && page.contains("As soon as the bot reports")
    );
    report(&site, "first", &[(0, 50), (1, 1900)], 3).await;
    report(&site, "second", &[(2, 48)], 3).await;
    let page = html(&site.get("/status").await);
    assert!(page.contains("<strong>Shard 1 is slow.</strong>"), "{page}");
    assert!(page.contains("<li class=\"mixed\">1 <b>slow</b> <small>1900 ms</small></li>"), "{page}");
    assert!(page.contains("<li class=\"good\">2 <small>48 ms</small></li>"), "{page}");

    site.memory.clock.advance(MINUTE);
    report(&site, "first", &[(0, 50), (1, 50)], 3).await;
    site.memory.clock.advance(MINUTE);
    let page = html(&site.get("/status").await);
    assert!(page.contains("<strong>Shard 2 is missing.</strong>"), "{page}");
    assert!(page.contains("second</th><td><span class=\"badge bad\">silent</span>"), "{page}");
    report(&site, "third", &[(2, 48)], 3).await;
    let page = html(&site.get("/status").await);
    assert!(page.contains("<strong>All 3 shards are online.</strong>"), "{page}");
    assert!(!page.contains(">second<"), "others report its shards");

    site.memory.clock.advance(MINUTE * 10);
    let page = html(&site.get("/status").await);
    assert!(page.contains("<strong>Night Watch is silent.</strong> Last heard of"), "{page}");
    assert!(page.contains(">10 minutes ago</time>"), "{page}");
}

#[actix_web::test]
async fn very_many_shards_fit_a_page() {
    let site = Site::new().await;
    let all: Vec<_> = (0..256).map(|id| (id, 48)).collect();
    report(&site, "all", &all, 256).await;
    let page = site.get("/status").await.body;
    assert!(page.len() < 30_000, "{} bytes", page.len());
    let all: Vec<_> = (0..4096).map(|id| (id, if id == 7 { 1900 } else { 48 })).collect();
    report(&site, "all", &all, 4097).await;
    let page = html(&site.get("/status").await);
    assert!(page.len() < 30_000 && page.contains("7 <b>slow</b>") && page.contains("4096 <b>missing</b>"));
    assert!(page.contains("<dt>Shards</dt><dd>1 missing, 1 slow, 4,095 ok</dd>"), "{page}");
}

#[actix_web::test]
async fn shows_notices_while_they_count_and_in_the_history_afterwards() {
    let site = Site::new().await;
    let now = site.memory.clock.now();
    let notice = |id: &str, kind, from, until| Notice {
        id: id.parse().unwrap(),
        kind,
        title: format!("About <{id}>").parse().unwrap(),
        text: "First line\n<script>".parse().unwrap(),
        from,
        until,
    };
    let (soon, later) = (now.after(MINUTE), now.after(MINUTE * 2));
    for one in [
        notice("open", NoticeKind::Incident, now, None),
        notice("planned", NoticeKind::Maintenance, soon, Some(later)),
        notice("future", NoticeKind::News, soon, None),
    ] {
        site.put(Record::Notice(one)).await;
    }
    let page = html(&site.get("/status").await);
    assert!(page.contains("Incident</span> About &#60;open&#62;"), "{page}");
    assert!(page.contains("Planned maintenance</span> About &#60;planned&#62;"), "{page}");
    assert!(page.contains("First line\n&#60;script&#62;") && !page.contains("future"), "{page}");
    assert_eq!(status_json(&site).await["notices"].as_array().unwrap().len(), 3);
    site.memory.clock.advance(MINUTE * 3);
    let page = html(&site.get("/status").await);
    let history = page.split_once("Last incidents").unwrap().1;
    assert!(history.contains("About &#60;planned&#62;") && history.contains("lasted 1 minute"), "{page}");
    assert!(!history.contains("About &#60;open&#62;"), "it goes on above");
}

#[actix_web::test]
async fn shows_outages_of_the_last_days() {
    let site = Site::new().await;
    let now = site.memory.clock.now();
    let change = |change| site.write(Mutation::Period(change));
    let begin = |subject, began_at, reason: &str| {
        let reason = reason.parse().ok();
        let period = Period { subject, began_at, ended_at: None, reason, alert_due: None };
        PeriodChange::Begin(period, Silence::default())
    };
    let yesterday = now.before(MINUTE * 60 * 24);
    change(PeriodChange::Watch(yesterday)).await;
    change(begin(PeriodSubject::Silent, yesterday, "")).await;
    change(begin(PeriodSubject::Incident, yesterday, "The bot is silent")).await;
    for subject in [PeriodSubject::Silent, PeriodSubject::Incident] {
        let at = yesterday.after(MINUTE * 12);
        change(PeriodChange::End { subject, at, alert_due: None }).await;
    }
    change(begin(PeriodSubject::Cluster("east".parse().unwrap()), now.before(MINUTE), "")).await;
    let page = html(&site.get("/status").await);
    assert_eq!(page.matches(": unknown</span>").count(), 88);
    assert!(page.contains("31 December 2025: outage, 12 minutes"), "{page}");
    assert!(page.contains("1 January 2026: partial outage, 1 minute"), "{page}");
    assert!(
        page.contains("<strong>The bot is silent</strong>") && page.contains("lasted 12 minutes"),
        "{page}"
    );
    assert!(page.contains("<strong>Cluster east was silent</strong>") && page.contains("goes on"), "{page}");
    let days = status_json(&site).await["days"].clone();
    assert_eq!(days[88], json!({"day": "2025-12-31", "state": "down"}));
    assert_eq!(days[89], json!({"day": "2026-01-01", "state": "partial"}));
    assert_eq!(days.as_array().unwrap().len(), 90);
}

#[actix_web::test]
async fn other_sites_can_embed_the_status() {
    let site = Site::new().await;
    assert_eq!(status_json(&site).await["state"], "silent");
    site.put(Record::Guild(a_guild(7))).await;
    site.memory.clock.advance(MINUTE);
    report(&site, "first", &[(0, 50), (1, 1900)], 3).await;
    let status = status_json(&site).await;
    assert_eq!((&status["state"], &status["guilds"]), (&json!("missing"), &json!(1)));
    let members = u64::from(a_guild(7).members.get());
    assert_eq!(status["members"], json!(members));
    let shards = json!({"ok": 1, "unknown": 0, "slow": 1, "stale": 0, "missing": 1, "silent": 0});
    assert_eq!(status["shards"], shards);
    let home = html(&site.get("/").await);
    assert!(home.contains(&format!("In 1 guild with {members} members")), "{home}");
    let answer = site.get("/badge.svg").await;
    assert_eq!(answer.header("content-type"), "image/svg+xml");
    assert_eq!(answer.header("cross-origin-resource-policy"), "cross-origin");
    assert!(html(&answer).contains("aria-label=\"Night Watch: missing\""), "{}", html(&answer));
    assert_eq!(site.get("/status").await.header("cross-origin-resource-policy"), "same-origin");
}

#[actix_web::test]
async fn a_guild_shows_its_shard() {
    let site = Site::new().await;
    site.put(Record::Guild(a_guild(7))).await;
    let browser = Browser::signed_in(&site, 1, vec![an_ownership(7)]).await;
    assert!(!browser.page("/guilds/7").await.contains("<dt>Shard</dt>"), "the number of shards is not known");
    report(&site, "first", &[(0, 1900)], 2).await;
    let page = browser.page("/guilds/7").await;
    assert!(page.contains("<dt>Shard</dt><dd>0, slow</dd>"), "{page}");
}
