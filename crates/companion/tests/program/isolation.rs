//! Asserts that users see only their own data and no session outlives its end, while sessions, guilds, roles and blocks
//! change.
//!
//! Every user has a guild without other members. The default run is small. `ISOLATION` sets the percentage of the full
//! load: five million requests over ten thousand users, half of them on one node and half on three.

use crate::{
    http::{Kept, KeptAnswer},
    stage::{Node, Stage, account, each, guild, guild_of, sync_lines},
};
use companion_testkit::entropy::SeededEntropy;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

const VARIABLE: &str = "ISOLATION";
/// Concurrent actors, each with its own users.
const ACTORS: u64 = 8;
/// Bound of the propagation of a change to all nodes.
const PROPAGATION: Duration = Duration::from_secs(1);
/// Guilds with many members, in which users have a role that they may lose.
const SHARED: u64 = 20;
const ROLE: &str = "70";
/// Number of ended sessions per user that are retried.
const RETRIED_SESSIONS: usize = 4;

/// Numbers of users and requests.
pub(crate) struct Size {
    users: u64,
    requests: u64,
}

impl Size {
    pub(crate) fn from_environment() -> Self {
        match std::env::var(VARIABLE) {
            Ok(percent) => {
                let percent: u64 = percent.parse().unwrap();
                Self { users: (10_000 * percent / 100).max(ACTORS), requests: 2_500_000 * percent / 100 }
            }
            Err(_) => Self { users: 40, requests: 1200 },
        }
    }
}

/// A fact, with the time and the node of its last change.
#[derive(Clone, Copy)]
struct Fact {
    holds: bool,
    since: Option<(Instant, usize)>,
}

impl Fact {
    fn always(holds: bool) -> Self {
        Self { holds, since: None }
    }

    fn set(&mut self, holds: bool, node: usize) {
        *self = Self { holds, since: Some((Instant::now(), node)) };
    }

    /// Returns what a node must know when asked at this time, or `None` if the change may not have arrived yet.
    fn known(self, node: usize, asked: Instant) -> Option<bool> {
        let heard = self.since.is_none_or(|(time, by)| by == node || asked > time + PROPAGATION);
        heard.then_some(self.holds)
    }
}

struct Person {
    id: u64,
    /// The shared guild in which the user has a role.
    shared: u64,
    token: Option<String>,
    /// Whether the user has a second session, which is never ended.
    has_another: bool,
    ended: Vec<(String, Fact)>,
    blocked: Fact,
    guild_there: Fact,
    has_role: Fact,
}

/// Counts of what an actor has observed.
#[derive(Default)]
struct Seen {
    requests: u64,
    lists: u64,
    ends: u64,
    refused: u64,
    changes: u64,
}

fn shared_guild(number: u64) -> u64 {
    290_000_000_000_000_000 + number % SHARED
}

/// Acts for some of the users, on all nodes.
struct Actor<'a> {
    stage: &'a Stage,
    nodes: &'a [Node],
    connections: Vec<Kept>,
    people: Vec<Person>,
    chance: SeededEntropy,
    seen: Seen,
}

impl<'a> Actor<'a> {
    fn new(stage: &'a Stage, nodes: &'a [Node], number: u64, users: u64) -> Self {
        let people = (1..=users).filter(|user| user % ACTORS == number).map(|id| Person {
            id,
            shared: shared_guild(id),
            token: None,
            has_another: false,
            ended: Vec::new(),
            blocked: Fact::always(false),
            guild_there: Fact::always(true),
            has_role: Fact::always(false),
        });
        let connections = nodes.iter().map(|node| Kept::to(node.public()).unwrap()).collect();
        let chance = SeededEntropy::new(number + 1);
        Self { stage, nodes, connections, people: people.collect(), chance, seen: Seen::default() }
    }

    fn below(&self, bound: usize) -> usize {
        usize::try_from(self.chance.below(bound as u64)).unwrap()
    }

    fn get(&mut self, node: usize, token: &str) -> KeptAnswer {
        self.seen.requests += 1;
        loop {
            let answer = self.connections[node].get("/guilds", &[("Token", token)]);
            // The server may have just closed a connection that was idle for some seconds.
            let idle = answer.as_ref().map_or(true, |answer| answer.status == 408);
            if idle || answer.as_ref().is_ok_and(|answer| answer.closes) {
                self.connections[node] = Kept::to(self.nodes[node].public()).unwrap();
            }
            if !idle {
                return answer.unwrap();
            }
        }
    }

    fn act(&mut self, requests: u64) {
        while self.seen.requests < requests {
            let (number, node) = (self.below(self.people.len()), self.below(self.nodes.len()));
            match self.below(200) {
                0 => self.end_session(number, node),
                which @ 1..5 => self.change(number, node, which),
                5..25 => self.try_ended(number, node),
                _ => self.look(number, node),
            }
        }
    }

    fn sign_in(&mut self, number: usize, node: usize) {
        let person = &self.people[number];
        if person.blocked.known(node, Instant::now()) != Some(false) {
            return;
        }
        let id = person.id;
        if !person.has_another {
            // The end of the last session revokes the grant at the platform, and a concurrent sign-in could lose its
            // new grant too.
            self.nodes[node].sign_in(self.stage, id);
            self.people[number].has_another = true;
        }
        self.people[number].token = Some(self.nodes[node].sign_in(self.stage, id));
    }

    /// Requests the listing, which must contain exactly what this user may see.
    fn look(&mut self, number: usize, node: usize) {
        let Some(token) = self.people[number].token.clone() else { return self.sign_in(number, node) };
        let asked = Instant::now();
        let answer = self.get(node, &token);
        let person = &self.people[number];
        match person.blocked.known(node, asked) {
            Some(true) => assert_eq!(answer.status, 403, "user {} is blocked", person.id),
            Some(false) => assert_eq!(answer.status, 200, "user {}: {}", person.id, text(&answer)),
            None => assert!(matches!(answer.status, 200 | 403), "user {}: {}", person.id, text(&answer)),
        }
        if answer.status == 200 {
            self.seen.lists += 1;
            let shown = shown(&answer);
            let (own, shared) = (guild_of(person.id), person.shared);
            for (guild, fact) in [(own, person.guild_there), (shared, person.has_role)] {
                if let Some(must) = fact.known(node, asked) {
                    assert_eq!(shown.contains(&guild), must, "user {}, guild {guild}: {shown:?}", person.id);
                }
            }
            let foreign: Vec<_> = shown.iter().filter(|guild| ![own, shared].contains(guild)).collect();
            assert!(foreign.is_empty(), "user {} was shown {foreign:?}", person.id);
        }
    }

    /// Ends the session in a random way.
    fn end_session(&mut self, number: usize, node: usize) {
        let Some(token) = self.people[number].token.take() else { return };
        match self.below(2) {
            0 => self.nodes[node].sign_out(&token),
            _ => drop(self.nodes[node].manage("DELETE", &format!("/sessions/{}", id_of(&token)), "")),
        }
        let mut alive = Fact::always(true);
        alive.set(false, node);
        let ended = &mut self.people[number].ended;
        ended.push((token, alive));
        if ended.len() > RETRIED_SESSIONS {
            ended.remove(0);
        }
        self.seen.ends += 1;
        self.try_ended(number, node);
    }

    /// An ended session must be refused: at once on the node that ended it, after a second on the others.
    fn try_ended(&mut self, number: usize, node: usize) {
        let ended = &self.people[number].ended;
        if ended.is_empty() {
            return;
        }
        let (token, alive) = ended[self.below(ended.len())].clone();
        let asked = Instant::now();
        let answer = self.get(node, &token);
        if alive.known(node, asked).is_some() {
            let id = self.people[number].id;
            // A blocked user may get 403 instead.
            assert!(matches!(answer.status, 401 | 403), "user {id}, session over: {}", text(&answer));
            self.seen.refused += 1;
        }
    }

    /// Puts or removes the block, the guild or the role of a user.
    fn change(&mut self, number: usize, node: usize, which: usize) {
        let person = &mut self.people[number];
        let (id, own, shared) = (person.id, guild_of(person.id), person.shared);
        let (path, body, fact) = match which {
            1 => (format!("/bot/blocked/{id}"), String::new(), &mut person.blocked),
            2 => (format!("/bot/guilds/{own}"), guild(1).to_string(), &mut person.guild_there),
            _ => {
                let body = json!({"roles": [ROLE]}).to_string();
                (format!("/bot/guilds/{shared}/members/{id}"), body, &mut person.has_role)
            }
        };
        let (method, body) = if fact.holds { ("DELETE", "") } else { ("PUT", &*body) };
        self.nodes[node].manage(method, &path, body);
        fact.set(!fact.holds, node);
        self.seen.changes += 1;
    }
}

/// Returns the id under which the store keeps the session of a token.
fn id_of(token: &str) -> String {
    Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(answer: &KeptAnswer) -> String {
    format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))
}

fn shown(answer: &KeptAnswer) -> BTreeSet<u64> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let guilds = body["data"].as_array().unwrap().iter();
    guilds.map(|guild| guild["id"].as_str().unwrap().parse().unwrap()).collect()
}

/// Runs all actors on these nodes, and asserts isolation.
pub(crate) fn play(stage: &Stage, nodes: &[Node], size: &Size) {
    for user in 1..=size.users {
        let mut account = account(user, &[guild_of(user), shared_guild(user)]);
        // The shared guild is visible only through a role.
        account.guilds[1].owner = false;
        stage.platform().put_user(account);
    }
    let mut reported = guild(1);
    reported["roles"] = json!({"MOD": [ROLE]});
    let guilds = (1..=size.users).map(guild_of).chain((0..SHARED).map(shared_guild));
    let lines = sync_lines(guilds, &reported);
    nodes[0].manage("POST", "/bot/sync?replace=all", &lines);
    if nodes.len() > 1 {
        // Wait until every node has received the setup.
        thread::park_timeout(PROPAGATION);
    }
    let begun = Instant::now();
    let seen = each(0..ACTORS, |number| {
        let mut actor = Actor::new(stage, nodes, number, size.users);
        actor.act(size.requests / ACTORS);
        actor.seen
    });
    let all = seen.into_iter().fold(Seen::default(), |all, one| Seen {
        requests: all.requests + one.requests,
        lists: all.lists + one.lists,
        ends: all.ends + one.ends,
        refused: all.refused + one.refused,
        changes: all.changes + one.changes,
    });
    let Seen { requests, lists, ends, refused, changes } = all;
    println!(
        "isolation: {} users on {} nodes, {requests} requests in {:.0} s: {lists} lists without a foreign guild, {ends} \
         sessions ended and refused {refused} times, {changes} changes of guilds, roles and blocks",
        size.users,
        nodes.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(lists > requests / 2 && ends > 0 && refused > 0 && changes > 0);
}

/// Starts a node whose guild lists stay fresh for the whole test.
pub(crate) fn serve(stage: &Stage, storage: &str) -> Node {
    Node::ready(stage.program(&["serve"], storage).env("COMPANION_GUILDS__REFRESH_AFTER", "1h"))
}

#[test]
fn isolation_on_one_node() {
    let stage = Stage::new();
    let nodes = [serve(&stage, "sqlite:companion.db")];
    play(&stage, &nodes, &Size::from_environment());
}
