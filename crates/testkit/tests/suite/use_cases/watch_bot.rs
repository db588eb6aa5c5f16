//! Silent clusters, and watching the bot over days of crashes, deployments, rescaling, restarts and wrong clocks, against
//! an oracle.
#![expect(clippy::indexing_slicing, reason = "the dice stay below the lengths")]

use crate::use_cases::{HOUR, SECOND};
use companion_domain::{
    change::{Change, Changes, Kind, Revision, Subject},
    model::{ClusterId, Heartbeat, Period, PeriodSubject, ShardCount, ShardId, Shards, Span, Timestamp},
    port::{BotTelemetry as _, ChangeBatch, ChangeFeed, Clock as _, Mutation, Records, StatusHistory},
    rules::BotHealth,
    usecase::{Alert, Clusters, Observed, Periods, UseCases},
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::{
    clock::FixedClock,
    entropy::SeededEntropy,
    use_cases::{InMemory, Ports, settings},
    world::a_heartbeat,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

const SILENT_AFTER: u64 = 90;
/// Length of a step, in seconds. Every node looks at the bot once in a step.
const STEP: u64 = 5;
/// Interval of reports, in seconds.
const REPORT_INTERVAL: u64 = 30;
const START: i64 = 1_767_225_600;
const NODES: usize = 3;
const DAY: u64 = 86_400;

/// A process of the bot.
#[derive(Clone)]
struct Process {
    name: String,
    shards: Vec<u32>,
    count: u32,
    /// From when it runs. In the future while it restarts.
    from: u64,
}

/// What the store knows of a cluster: the truth that the oracle judges.
#[derive(Clone)]
struct Heard {
    at: u64,
    process: Process,
}

struct Node {
    clock: Arc<FixedClock>,
    use_cases: UseCases,
    observed: Observed,
    clusters: Option<Clusters>,
    periods: Option<Periods>,
    revision: Option<Revision>,
    up_since: u64,
    /// When it starts again, if it is down.
    down_until: Option<u64>,
}

fn use_cases(storage: &MemoryStorage, clock: &Arc<FixedClock>) -> UseCases {
    let ports = InMemory::over(storage.clone()).ports;
    UseCases::new(&Ports { clock: clock.clone(), ..ports }, settings())
}

impl Node {
    fn new(storage: &MemoryStorage, now: u64, clock: Arc<FixedClock>) -> Self {
        Self {
            use_cases: use_cases(storage, &clock),
            clock,
            observed: Observed::default(),
            clusters: None,
            periods: None,
            revision: None,
            up_since: now,
            down_until: None,
        }
    }

    async fn catch_up(&mut self, storage: &MemoryStorage) {
        let latest = storage.latest().await.unwrap();
        let batch = match self.revision {
            Some(revision) => match storage.since(revision).await.unwrap() {
                Changes::Listed(changes) => ChangeBatch::Changes(changes),
                Changes::Gap(_) => ChangeBatch::Everything,
            },
            None => ChangeBatch::Everything,
        };
        self.revision = Some(latest);
        let touches = |kind: Kind| match &batch {
            ChangeBatch::Everything => true,
            ChangeBatch::Changes(changes) => changes.iter().any(|change| change.subject.kind() == kind),
        };
        if touches(Kind::Cluster) {
            self.clusters =
                Some(self.use_cases.report_status.clusters(self.clusters.as_ref(), &batch).await.unwrap());
        }
        if touches(Kind::Period) {
            self.periods = Some(self.use_cases.report_status.periods(self.periods.as_ref()).await.unwrap());
        }
    }
}

struct World {
    dice: SeededEntropy,
    storage: MemoryStorage,
    now: u64,
    fleet: Vec<Process>,
    heard: BTreeMap<String, Heard>,
    generation: u64,
    nodes: Vec<Node>,
    /// Since when a node has been up without a gap.
    watched_since: Option<u64>,
    missing_since: Option<u64>,
    /// The oracle's open incident: when it began.
    incident: Option<u64>,
    incident_changed: u64,
    /// Expected openings and closings, and those that were sent. A crash repeats at most one.
    expected: Vec<bool>,
    sent: Vec<bool>,
    crashes: usize,
    compared: u64,
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(START + seconds.cast_signed()).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let storage = MemoryStorage::new();
        let clock = || Arc::new(FixedClock::at(at(0)));
        let nodes = (0..NODES).map(|_| Node::new(&storage, 0, clock())).collect();
        let mut world = Self {
            dice: SeededEntropy::new(seed),
            storage,
            now: 0,
            fleet: Vec::new(),
            heard: BTreeMap::new(),
            generation: 0,
            nodes,
            watched_since: Some(0),
            missing_since: None,
            incident: None,
            incident_changed: 0,
            expected: Vec::new(),
            sent: Vec::new(),
            crashes: 0,
            compared: 0,
        };
        world.deploy(4, 0);
        world
    }

    fn once_in(&self, times: u64) -> bool {
        self.dice.below(times) == 0
    }

    /// Replaces the fleet by this many processes, with one to four shards each, which start after `delay`.
    fn deploy(&mut self, processes: u32, delay: u64) {
        self.generation += 1;
        let each = 1 + u32::try_from(self.dice.below(4)).unwrap();
        let (generation, count, from) = (self.generation, processes * each, self.now + delay);
        let process = |number: u32| Process {
            name: format!("pod-{generation}-{number}"),
            shards: (number * each..(number + 1) * each).collect(),
            count,
            from,
        };
        self.fleet = (0..processes).map(process).collect();
    }

    async fn sign_off(&mut self, name: &str) {
        if self.watched_since.is_some() && self.heard.remove(name).is_some() {
            let cluster: ClusterId = name.parse().unwrap();
            self.storage.write(Mutation::SignOff(cluster)).await.unwrap();
        }
    }

    /// Lets something happen, about once in an hour each.
    async fn happen(&mut self) {
        let often = 3600 / STEP;
        if self.once_in(often) {
            // A process crashes and comes back, under its name or another one.
            let (victim, away) = (self.dice.below(self.fleet.len() as u64), 10 + self.dice.below(1200));
            let (now, renamed, generation) = (self.now, self.once_in(2), self.generation);
            let process = &mut self.fleet[usize::try_from(victim).unwrap()];
            process.from = now + away;
            if renamed {
                process.name = format!("pod-{generation}-{victim}-{now}");
            }
        }
        if self.once_in(often) {
            // A process is restarted on purpose.
            let victim = usize::try_from(self.dice.below(self.fleet.len() as u64)).unwrap();
            let name = self.fleet[victim].name.clone();
            self.sign_off(&name).await;
            self.fleet[victim].from = self.now + 10 + self.dice.below(200);
        }
        if self.once_in(6 * often) {
            // The bot is rescaled: half of the time it signs off, else it is killed.
            if self.once_in(2) {
                for process in self.fleet.clone() {
                    self.sign_off(&process.name).await;
                }
            }
            let (sizes, delay) = ([1, 4, 16, 4], self.dice.below(120));
            let size = sizes[usize::try_from(self.dice.below(4)).unwrap()];
            self.deploy(size, delay);
        }
        if self.once_in(8 * often) {
            // The whole bot is down for a while.
            let away = 60 + self.dice.below(3600);
            self.fleet.iter_mut().for_each(|process| process.from = self.now + away);
        }
        if self.once_in(2 * often) {
            // A node's clock jumps, and is corrected at the next jump.
            let node = usize::try_from(self.dice.below(NODES as u64)).unwrap();
            let error = [0, 0, 3600, -3600][usize::try_from(self.dice.below(4)).unwrap()];
            let date = START + self.now.cast_signed() + error;
            self.nodes[node].clock.set(Timestamp::from_seconds(date).unwrap());
        }
        let all_up =
            self.nodes.iter().all(|node| node.down_until.is_none() && self.now - node.up_since > 600);
        if all_up && self.once_in(4 * often) {
            let away = self.now + 10 + self.dice.below(300);
            let all = self.once_in(4);
            let one = usize::try_from(self.dice.below(NODES as u64)).unwrap();
            for (number, node) in self.nodes.iter_mut().enumerate() {
                if all || number == one {
                    node.down_until = Some(away);
                }
            }
        }
    }

    async fn report(&mut self) {
        if self.watched_since.is_none() {
            return;
        }
        let up = self.nodes.iter().position(|node| node.down_until.is_none()).unwrap();
        for process in self.fleet.clone() {
            if process.from > self.now || !(self.now - process.from).is_multiple_of(REPORT_INTERVAL) {
                continue;
            }
            let sample = a_heartbeat(&process.name, self.nodes[up].clock.now());
            let (_, shard) = sample.shards.iter().next().unwrap();
            let shards = process.shards.iter().map(|id| (ShardId::new(*id), shard)).collect();
            let report = Heartbeat {
                shards: Shards::new(shards).unwrap(),
                shard_count: ShardCount::new(process.count.into()).ok(),
                ..sample
            };
            self.storage.write(Mutation::Report(report)).await.unwrap();
            self.heard.insert(process.name.clone(), Heard { at: self.now, process });
        }
    }

    /// Judges the bot as a person would, from what was last heard of each process. All reported shards are healthy.
    fn oracle(&self) -> String {
        let is_live = |heard: &&Heard| self.now - heard.at < SILENT_AFTER;
        let live: Vec<_> = self.heard.values().filter(is_live).collect();
        if live.is_empty() {
            return "The bot is silent".to_owned();
        }
        let counts: BTreeSet<_> = live.iter().map(|heard| heard.process.count).collect();
        let known: BTreeSet<u32> = live.iter().flat_map(|heard| heard.process.shards.clone()).collect();
        let expected = if counts.len() == 1 { *counts.first().unwrap() } else { 0 };
        let all = known.iter().copied().chain(0..expected).collect::<BTreeSet<_>>();
        match all.difference(&known).collect::<Vec<_>>().as_slice() {
            [] => {}
            [one] => return format!("Shard {one} is missing"),
            several => return format!("{} of {} shards are missing", several.len(), all.len()),
        }
        if counts.len() > 1 {
            return "Clusters disagree on the number of shards".to_owned();
        }
        match self.uncovered(&known).as_slice() {
            [] if all.len() == 1 => "The bot is online with one shard".to_owned(),
            [] => format!("All {} shards are online", all.len()),
            [one] => format!("Cluster {one} is silent"),
            several => format!("{} clusters are silent", several.len()),
        }
    }

    /// Returns silent clusters whose shards are not all reported by others.
    fn uncovered(&self, known: &BTreeSet<u32>) -> Vec<String> {
        let silent = self.heard.iter().filter(|(_, heard)| self.now - heard.at >= SILENT_AFTER);
        let is_uncovered = |heard: &Heard| heard.process.shards.iter().any(|shard| !known.contains(shard));
        silent.filter(|(_, heard)| is_uncovered(heard)).map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether a node knows every cluster first-hand.
    fn is_certain(&self) -> bool {
        let is_up = |node: &Node| node.down_until.is_none() && self.now - node.up_since >= SILENT_AFTER;
        self.nodes.iter().any(is_up)
    }

    /// Follows incidents as a person would.
    fn judge_incident(&mut self, word: &str) {
        let Some(watched_since) = self.watched_since else { return };
        let is_silent = word == "The bot is silent";
        let is_missing = word.ends_with("missing");
        self.missing_since = is_missing.then(|| self.missing_since.unwrap_or(self.now).max(watched_since));
        let watched = self.now - watched_since;
        match self.incident {
            None => {
                let silent = is_silent && !self.heard.is_empty() && watched >= SILENT_AFTER;
                let since = self.missing_since.map(|since| since.max(self.incident_changed));
                let missing = since.is_some_and(|since| self.now - since >= SILENT_AFTER);
                if silent || missing {
                    (self.incident, self.incident_changed) = (Some(self.now), self.now);
                    self.expected.push(true);
                }
            }
            Some(_) if !is_silent && !is_missing && self.is_certain() => {
                (self.incident, self.incident_changed) = (None, self.now);
                self.expected.push(false);
            }
            Some(_) => {}
        }
    }

    async fn step(&mut self) {
        self.now += STEP;
        for node in &mut self.nodes {
            node.clock.advance(Duration::from_secs(STEP));
            if node.down_until.is_some_and(|until| until <= self.now) {
                *node = Node::new(&self.storage, self.now, node.clock.clone());
            }
        }
        self.happen().await;
        let is_watched = self.nodes.iter().any(|node| node.down_until.is_none());
        self.watched_since = is_watched.then(|| self.watched_since.unwrap_or(self.now));
        if !is_watched {
            self.missing_since = None;
        }
        self.report().await;
        let word = self.oracle();
        self.judge_incident(&word);
        // All nodes are asked before one of them removes a cluster.
        let up: Vec<_> = (0..NODES).filter(|number| self.nodes[*number].down_until.is_none()).collect();
        for number in &up {
            self.compare(*number, &word).await;
        }
        for number in up {
            self.tick(number).await;
        }
        // What the store has retired or forgotten is no longer known.
        let kept = self.storage.clusters().await.unwrap();
        self.heard.retain(|name, _| kept.iter().any(|report| report.cluster.as_str() == name));
    }

    async fn compare(&mut self, number: usize, word: &str) {
        let node = &mut self.nodes[number];
        node.catch_up(&self.storage).await;
        let Some(clusters) = &node.clusters else { return };
        // A report from before the node's start is judged by its date, which may be wrong.
        if self.now.is_multiple_of(60) && self.now - node.up_since > SILENT_AFTER + REPORT_INTERVAL {
            let shown = node.use_cases.report_status.health(clusters).sentence();
            assert_eq!(shown, word, "node {number} at {} s", self.now);
            self.compared += 1;
        }
    }

    async fn tick(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        node.catch_up(&self.storage).await;
        let (Some(clusters), Some(periods)) = (&node.clusters, &node.periods) else { return };
        let alert = node.use_cases.watch_bot.tick(&mut node.observed, clusters, periods, true).await.unwrap();
        if let Some(alert) = alert {
            self.deliver(number, alert).await;
        }
    }

    async fn deliver(&mut self, number: usize, alert: Alert) {
        self.sent.push(alert.incident.ended_at.is_none());
        if self.once_in(20) {
            // The node crashes after it has sent the alert, and before the store knows.
            self.crashes += 1;
            self.nodes[number].down_until = Some(self.now + 5);
            return;
        }
        assert_eq!(self.nodes[number].use_cases.watch_bot.sent(alert, true).await.unwrap(), None);
    }
}

#[tokio::test]
async fn the_status_is_true_over_days_of_faults() {
    let is_full = std::env::var("STATUS").is_ok_and(|size| size == "full");
    let (days, seeds) = if is_full { (30, 1..=4) } else { (1, 1..=1) };
    for seed in seeds {
        let mut world = World::new(seed);
        while world.now < days * DAY {
            world.step().await;
        }
        let mut sent = world.sent.clone();
        // A repeated alert follows the one it repeats, or its end.
        let mut repeated = 0;
        if world.crashes > 0 {
            sent.dedup();
            repeated = world.sent.len() - sent.len();
        }
        assert_eq!(sent, world.expected);
        assert!(repeated <= world.crashes);
        assert!(world.compared > days * 1000 && world.expected.len() as u64 > days, "{:?}", world.expected);
        let open = |period: &Period| period.ended_at.is_none();
        let periods = world.storage.periods().await.unwrap();
        let incidents = periods.iter().filter(|period| period.subject == PeriodSubject::Incident);
        assert_eq!(incidents.filter(|period| open(period)).count(), usize::from(world.incident.is_some()));
    }
}

fn news_of(clusters: &[&str]) -> ChangeBatch {
    let change = |cluster: &&str| Change {
        revision: Revision(1),
        subject: Subject::Cluster(cluster.parse().unwrap()),
    };
    ChangeBatch::Changes(clusters.iter().map(change).collect())
}

fn silence(clusters: &Clusters, clock: &FixedClock) -> Vec<Duration> {
    clusters.last_heard(clock.monotonic()).map(|heard| heard.silent_for).collect()
}

#[test]
fn reports_before_the_start_count_by_their_date() {
    let clock = FixedClock::default();
    let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
    let reports = vec![
        report("past", clock.now().before(40 * SECOND)),
        report("skewed", clock.now().after(240 * SECOND)),
        report("ahead", clock.now().after(HOUR)),
    ];
    let clusters = Clusters::after(None, reports.clone(), &ChangeBatch::Everything, &clock);
    assert_eq!(silence(&clusters, &clock), [40 * SECOND, Duration::ZERO, Timestamp::LONG_AGO]);
    clock.set(clock.now().before(HOUR));
    clock.advance(SECOND);
    assert_eq!(silence(&clusters, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
    // After a gap the same reports are no newer than before, whatever the clock shows.
    let again = Clusters::after(Some(&clusters), reports, &ChangeBatch::Everything, &clock);
    assert_eq!(silence(&again, &clock), [41 * SECOND, SECOND, Timestamp::LONG_AGO + SECOND]);
}

#[test]
fn a_changed_cluster_counts_as_just_reported() {
    let clock = FixedClock::default();
    let one = Arc::new(a_heartbeat("one", clock.now()));
    let other = Arc::new(a_heartbeat("other", clock.now().after(HOUR)));
    let clusters = Clusters::after(None, vec![one.clone()], &news_of(&["one"]), &clock);
    clock.advance(30 * SECOND);
    let clusters = Clusters::after(Some(&clusters), vec![one, other], &news_of(&["other"]), &clock);
    assert_eq!(silence(&clusters, &clock), [30 * SECOND, Duration::ZERO]);
}

#[test]
fn silence_counts_only_after_the_cluster_was_watched() {
    let clock = FixedClock::default();
    let names = |clusters: &Clusters| {
        let heard = clusters.last_heard(clock.monotonic());
        let forgotten = heard.filter(|heard| heard.is_forgotten(Span::from_seconds(90)));
        forgotten.map(|heard| heard.report.cluster.to_string()).collect::<Vec<_>>()
    };
    let report = |name, received_at| Arc::new(a_heartbeat(name, received_at));
    let (ahead, old) = (clock.now().after(HOUR), clock.now().before(23 * HOUR));
    let reports = vec![report("ahead", ahead), report("old", old), report("new", clock.now())];
    let clusters = Clusters::after(None, reports, &ChangeBatch::Everything, &clock);
    assert_eq!(names(&clusters), [""; 0]);
    clock.advance(90 * SECOND);
    assert_eq!(names(&clusters), ["ahead"]);
    clock.advance(HOUR - 90 * SECOND);
    assert_eq!(names(&clusters), ["ahead", "old"]);
    clock.set(clock.now().after(365 * 24 * HOUR));
    assert_eq!(names(&clusters), ["ahead", "old"]);
    clock.advance(23 * HOUR);
    assert_eq!(names(&clusters), ["ahead", "old", "new"]);
}

#[tokio::test]
async fn counts_silent_and_live_clusters() {
    let (clock, storage) = (Arc::new(FixedClock::default()), MemoryStorage::new());
    let status = use_cases(&storage, &clock).report_status;
    let count = |clusters| {
        let BotHealth { live, silent, last_heard, .. } = status.health(clusters);
        (live, silent.len(), last_heard)
    };
    let clusters = status.clusters(None, &ChangeBatch::Everything).await.unwrap();
    assert_eq!(count(&clusters), (0, 0, None));
    for (name, age) in [("one", 10), ("other", 80)] {
        let received = clock.now().before(age * SECOND);
        let report = Heartbeat { shards: Shards::default(), ..a_heartbeat(name, received) };
        storage.write(Mutation::Report(report)).await.unwrap();
    }
    let clusters = status.clusters(None, &ChangeBatch::Everything).await.unwrap();
    assert_eq!(count(&clusters), (2, 0, Some(10 * SECOND)));
    clock.advance(10 * SECOND);
    assert_eq!(count(&clusters), (1, 1, Some(20 * SECOND)));
}
