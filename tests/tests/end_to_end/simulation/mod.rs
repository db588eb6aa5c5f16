//! Simulates days: thousands of users on two nodes over one store, a platform with expiring and rotating tokens,
//! outages and rate limits, and nodes that die. A model knows what every user must see and who must be signed in.
//!
//! The default run has few users. `SIMULATION=full` simulates thousands.

mod judge;
mod nodes;
mod report;

use self::{
    judge::{Judge, Life, Person, Verdict},
    nodes::{NODES, Nodes, Trouble, Visit, visit_all},
    report::Findings,
};
use crate::served::account;
use companion_domain::model::Timestamp;
use companion_testkit::entropy::SeededEntropy;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};

/// Age at which a list is refreshed.
const REFRESH_AFTER: Duration = Duration::from_secs(60);
/// Maximum age of a list while the platform is unavailable. Shorter than the default, so that it matters here.
const STALE_FOR: Duration = HOUR.saturating_mul(12);
/// Idle limit and maximum lifetime of a session. Shorter than the defaults, too.
const IDLE: Duration = HOUR.saturating_mul(30);
const LIFETIME: Duration = HOUR.saturating_mul(40);
/// Lifetime of the platform's access tokens.
const ACCESS_LIFETIME: Duration = HOUR.saturating_mul(4);
/// After this time the platform's troubles have no effect any more: every announced limit, every pause and every claim
/// has ended.
const RECOVERY: Duration = Duration::from_secs(120);
const HOUR: Duration = Duration::from_secs(3600);

/// Length of the simulation.
const LENGTH: Duration = HOUR.saturating_mul(48);
/// Number of users who sometimes come at the same moment.
const CROWD_SIZE: usize = 32;
/// Number of users who request outdated lists in every trouble.
const SLEEPER_COUNT: usize = 5;
/// How long a claim blocks nodes that know it.
const CLAIM_DURATION: Duration = Duration::from_secs(30);
/// Additional time after which a claim blocks no node: the maximum clock difference.
const MAX_CLOCK_SKEW: Duration = Duration::from_secs(301);
/// Retries within which a late list must arrive.
const MAX_RETRIES: usize = 2;
/// Maximum number of concurrent sessions per user.
const MAX_SESSIONS: usize = 3;

/// Repeatable randomness.
struct Chance(SeededEntropy);

impl Chance {
    /// Returns a number in the range.
    fn number(&self, range: Range<u64>) -> u64 {
        range.start + self.0.below(range.end - range.start)
    }

    /// Returns an index into something of this length.
    fn index(&self, length: usize) -> usize {
        usize::try_from(self.number(0..length as u64)).unwrap()
    }

    /// Returns true with this probability, in percent.
    fn percent(&self, hits: u64) -> bool {
        self.number(0..100) < hits
    }

    /// Returns a duration in the range of seconds, to the microsecond.
    fn time(&self, seconds: Range<u64>) -> Duration {
        Duration::from_micros(self.number(seconds.start * 1_000_000..seconds.end * 1_000_000))
    }
}

/// An event. Users are identified by their index.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A user is active, and will come again.
    Active(usize),
    /// A user sends one request.
    Glance(usize),
    /// Many users come at the same moment.
    Crowd,
    /// The platform starts to fail.
    TroubleBegins(Trouble),
    /// The platform works again.
    TroubleEnds,
    /// The first sign-in on this node after a trouble.
    EarlyBird(usize),
    /// A node dies right after it has claimed a refresh.
    Death,
    /// Background work of the service.
    Housekeeping,
}

/// Future events, the next one first. Simultaneous ones are in the order in which they were added.
#[derive(Default)]
struct Agenda {
    events: BTreeMap<(Timestamp, u64), Event>,
    added: u64,
}

impl Agenda {
    fn add(&mut self, at: Timestamp, event: Event) {
        self.added += 1;
        self.events.insert((at, self.added), event);
    }

    fn next(&mut self) -> Option<(Timestamp, Event)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}

struct Run {
    nodes: Nodes,
    people: Vec<Person>,
    agenda: Agenda,
    chance: Chance,
    findings: Findings,
    trouble: Option<Trouble>,
    well_since: Timestamp,
    end: Timestamp,
}

impl Run {
    async fn new(users: u64) -> Self {
        let chance = Chance(SeededEntropy::default());
        let nodes = Nodes::new().await;
        let now = nodes.now();
        let end = now.after(LENGTH);
        let mut agenda = Agenda::default();
        let people: Vec<_> = (1..=users).map(|number| Person::new(number << 22, &chance, now)).collect();
        for (number, person) in people.iter().enumerate() {
            nodes.control.put_user(account(person.id, person.memberships()));
            agenda.add(now.after(chance.time(0..6 * 3600)), Event::Active(number));
        }
        Trouble::plan(&mut agenda, &chance, now, end.before(RECOVERY * 2));
        for event in [Event::Crowd, Event::Housekeeping, Event::Death] {
            agenda.add(now.after(HOUR), event);
        }
        let findings = Findings::default();
        Self { nodes, people, agenda, chance, findings, trouble: None, well_since: now, end }
    }

    async fn play(mut self) -> Findings {
        while let Some((at, event)) = self.agenda.next() {
            if at >= self.end {
                break;
            }
            self.nodes.move_to(at).await;
            self.happen(event).await;
            self.findings.answered(self.nodes.control.answers(), at);
        }
        self.nodes.move_to(self.end).await;
        self.nodes.keep_house().await;
        let everyone: Vec<_> = (0..self.people.len()).collect();
        for crowd in everyone.chunks(CROWD_SIZE) {
            self.come(crowd, 1).await;
        }
        let Self { nodes, people, mut findings, .. } = self;
        findings.answered(nodes.control.answers(), nodes.now());
        let at_once = people.iter().map(|person| nodes.control.calls_of(person.id).most_at_once);
        findings.most_at_once = at_once.max().unwrap_or(0);
        nodes.platform.stop().await;
        findings
    }

    fn now(&self) -> Timestamp {
        self.nodes.now()
    }

    fn judge(&self) -> Judge {
        let well = self.trouble.is_none() && self.now().since(self.well_since) >= RECOVERY;
        Judge { now: self.now(), well }
    }

    async fn happen(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Active(number) => self.be_active(number).await,
            Event::Glance(number) => self.come(&[number], 1).await,
            Event::Crowd => {
                // Not too many users at once, or no list would ever become old.
                let size = CROWD_SIZE.min(self.people.len() / 10);
                let crowd: BTreeSet<_> = (0..size).map(|_| self.chance.index(self.people.len())).collect();
                self.come(&crowd.into_iter().collect::<Vec<_>>(), 2).await;
                self.agenda.add(now.after(self.chance.time(600..3600)), event);
            }
            Event::TroubleBegins(trouble) => {
                self.findings.troubles += 1;
                self.trouble = Some(trouble);
                trouble.begin(&mut self.nodes).await;
                self.wake_sleepers(now.after(trouble.length() / 2));
            }
            Event::TroubleEnds => {
                self.trouble = None;
                self.well_since = now;
                Trouble::end(&mut self.nodes);
                for node in 0..NODES {
                    let late = Duration::from_secs(35 + node as u64);
                    self.agenda.add(now.after(late), Event::EarlyBird(node));
                }
            }
            Event::EarlyBird(node) => self.return_first(node).await,
            Event::Death => {
                self.die().await;
                self.agenda.add(now.after(self.chance.time(1800..7200)), event);
            }
            Event::Housekeeping => {
                self.nodes.keep_house().await;
                self.agenda.add(now.after(HOUR), event);
            }
        }
    }

    /// A user performs random actions.
    async fn be_active(&mut self, number: usize) {
        let now = self.now();
        if self.chance.percent(15) {
            self.people[number].change_guilds(&self.chance, now);
            let person = &self.people[number];
            self.nodes.control.set_guilds(person.id, person.memberships());
        }
        self.forget_old_sessions(number);
        if self.people[number].sessions.is_empty() && !self.sign_in(number, None).await {
            self.agenda.add(now.after(self.chance.time(300..1800)), Event::Active(number));
            return;
        }
        let tabs = self.chance.number(1..5);
        self.come(&[number], usize::try_from(tabs).unwrap()).await;
        match self.chance.number(0..200) {
            0..8 if self.people[number].sessions.len() < MAX_SESSIONS => {
                self.sign_in(number, None).await;
            }
            8..16 => self.sign_out(number, 1).await,
            16..20 => self.sign_out(number, MAX_SESSIONS).await,
            20..22 if !self.people[number].sessions.is_empty() => {
                self.findings.withdrawals += 1;
                self.nodes.control.end_authorisation(self.people[number].id);
                self.people[number].withdrawn = Some(now);
            }
            _ => {}
        }
        let pause = match self.chance.number(0..10) {
            0..6 => self.chance.time(5..600),
            6..9 => self.chance.time(3600..8 * 3600),
            _ => self.chance.time(10 * 3600..50 * 3600),
        };
        self.agenda.add(now.after(pause), Event::Active(number));
    }

    /// The first sign-in on a node after a trouble. By then every pause has ended, and it closes the breaker.
    async fn return_first(&mut self, node: usize) {
        self.forget_old_sessions(node);
        if self.people[node].sessions.len() >= MAX_SESSIONS {
            self.sign_out(node, 1).await;
        }
        self.sign_in(node, Some(node)).await;
        self.come(&[node], 1).await;
    }

    /// Makes users whose list is too old request it while no other can be fetched.
    fn wake_sleepers(&mut self, at: Timestamp) {
        let too_old = |person: &Person| person.listed_at.is_some_and(|listed| at.since(listed) >= STALE_FOR);
        let sleepers = self.people.iter().enumerate();
        let sleepers = sleepers.filter(|(_, person)| !person.sessions.is_empty() && too_old(person));
        for (number, _) in sleepers.take(SLEEPER_COUNT) {
            self.agenda.add(at, Event::Glance(number));
        }
    }

    async fn die(&mut self) {
        let number = self.chance.index(self.people.len());
        let now = self.now();
        let person = &mut self.people[number];
        if person.sessions.is_empty() || !self.nodes.die_with_a_claim(person.id, CLAIM_DURATION).await {
            return;
        }
        self.findings.deaths += 1;
        // On any node: one that was asked before may have taken the claim over earlier.
        person.claimed_until = now.after(CLAIM_DURATION + MAX_CLOCK_SKEW);
        for later in [CLAIM_DURATION / 2, CLAIM_DURATION * 2, CLAIM_DURATION + MAX_CLOCK_SKEW] {
            self.agenda.add(now.after(later), Event::Glance(number));
        }
    }

    fn forget_old_sessions(&mut self, number: usize) {
        let now = self.now();
        let person = &mut self.people[number];
        let over: Vec<_> =
            person.sessions.iter().filter(|session| session.life(now) == Life::Over).cloned().collect();
        self.findings.ended_rightly += over.len() as u64;
        over.iter().for_each(|session| person.end(&session.token));
    }

    async fn sign_in(&mut self, number: usize, node: Option<usize>) -> bool {
        let node = node.unwrap_or_else(|| self.chance.index(NODES));
        let Judge { now, well } = self.judge();
        let person = &mut self.people[number];
        let signed_in = match self.nodes.sign_in(node, person.id).await {
            Ok(signed_in) => signed_in,
            Err(error) => {
                if well {
                    self.findings.wrong(format!("user {} could not sign in: {error:?}", person.id));
                }
                return false;
            }
        };
        person.signed_in(signed_in.token.expose().to_owned(), now, well);
        true
    }

    /// Ends this many sessions of a user, oldest first.
    async fn sign_out(&mut self, number: usize, count: usize) {
        let now = self.now();
        let person = &mut self.people[number];
        let alive = person.sessions.iter().filter(|session| session.life(now) == Life::Alive);
        let tokens: Vec<_> = alive.take(count).map(|session| session.token.clone()).collect();
        for token in tokens {
            self.findings.sign_outs += 1;
            if !self.nodes.sign_out(self.chance.index(NODES), &token).await {
                self.findings.wrong(format!("a session of user {} could not be ended", person.id));
            }
            person.end(&token);
        }
        // Otherwise a user could be back before a call made at sign-out has finished.
        self.nodes.settled().await;
    }

    /// These users send this many requests each at the same moment.
    async fn come(&mut self, people: &[usize], tabs: usize) {
        let before: BTreeMap<_, _> = people
            .iter()
            .map(|number| (*number, self.nodes.control.calls_of(self.people[*number].id)))
            .collect();
        let visits = people.iter().flat_map(|number| self.visits(*number, tabs)).collect();
        let mut late = self.ask(visits).await;
        for _ in 0..MAX_RETRIES {
            if late.is_empty() {
                break;
            }
            // One retry per user is enough, however many requests were late.
            self.nodes.settled().await;
            let again: BTreeMap<_, _> = late.into_iter().map(|visit| (visit.person, visit)).collect();
            late = self.ask(again.into_values().collect()).await;
        }
        for visit in late {
            let user = self.people[visit.person].id;
            self.findings.wrong(format!("user {user} gets no fresh list although the platform is well"));
        }
        // Nodes share a list but not a failure: in trouble each of them may try once.
        let attempts = if self.judge().well { 1 } else { NODES as u64 };
        for (number, before) in before {
            let person = &self.people[number];
            let calls = self.nodes.control.calls_of(person.id);
            let (lists, renewals) = (calls.guilds - before.guilds, calls.renewals - before.renewals);
            if renewals > 1 || lists > attempts + renewals {
                let what = format!("{lists} lists and {renewals} renewals at one moment");
                self.findings.wrong(format!("user {}: {what}", person.id));
            }
        }
    }

    fn visits(&self, number: usize, tabs: usize) -> Vec<Visit> {
        let person = &self.people[number];
        // Half of the time the requests of one moment go to one node, as over one connection.
        let one_node = self.chance.percent(50).then(|| self.chance.index(NODES));
        let visit = |token: &String, over| {
            let node = one_node.unwrap_or_else(|| self.chance.index(NODES));
            Visit { person: number, node, token: token.clone(), over }
        };
        let mut visits = Vec::new();
        for _ in 0..tabs {
            if !person.sessions.is_empty() {
                visits.push(visit(&person.sessions[self.chance.index(person.sessions.len())].token, false));
            }
            if !person.ended.is_empty() && self.chance.percent(5) {
                visits.push(visit(&person.ended[self.chance.index(person.ended.len())], true));
            }
        }
        visits
    }

    /// Makes all visits concurrently, and judges the responses. Returns the visits that got late lists.
    async fn ask(&mut self, visits: Vec<Visit>) -> Vec<Visit> {
        let judge = self.judge();
        let (mut late, mut fresh, mut kept_waiting) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (visit, answer) in visit_all(&self.nodes, visits).await {
            let person = &mut self.people[visit.person];
            match judge.hear(person, &visit, &answer, &mut self.findings) {
                Verdict::Settled => {}
                Verdict::Fresh => drop(fresh.insert((visit.person, visit.node))),
                Verdict::Late => {
                    kept_waiting.insert((visit.person, visit.node));
                    late.push(visit);
                }
            }
        }
        // The node that fetches a list has it for all requests there at that moment.
        let fetched: BTreeSet<_> = fresh.difference(&kept_waiting).map(|(person, _)| *person).collect();
        let here = late.iter().filter(|visit| !fetched.contains(&visit.person));
        self.findings.late += here.count() as u64;
        late
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_stay_fresh_and_no_session_ends_wrongly_over_days() {
    let full = std::env::var("SIMULATION").is_ok_and(|size| size == "full");
    let findings = Run::new(if full { 2000 } else { 20 }).await.play().await;
    println!("{findings:#?}");
    findings.verdict();
}
