//! What was written, and what was said to it.

use super::failing::STORAGE;
use crate::{
    http::Answer,
    stage::{Node, Stage, guild, guild_of},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How many guilds a sync brings; the first twenty have a user who owns them.
const GUILDS: u64 = 40;

/// Whether it was done. Otherwise storage was to blame, and nothing else.
fn is_done(answer: &Answer) -> bool {
    if answer.status != 200 {
        let found = (answer.status, answer.body["data"]["error"].as_str());
        assert_eq!(found, (503, Some("storage_unavailable")), "{}", answer.body);
    }
    answer.status == 200
}

/// What is stored of what was written.
#[derive(Debug, PartialEq)]
pub(super) struct Stored {
    blocked: BTreeSet<u64>,
    synced: u64,
    sessions: BTreeSet<String>,
}

/// Writes of several kinds, each made once.
#[derive(Default)]
pub(super) struct Ledger {
    next: u64,
    blocked: BTreeSet<u64>,
    /// Users whose block was refused.
    refused_blocks: BTreeSet<u64>,
    /// The last sync that was acknowledged. It is how many members each guild has.
    synced: u64,
    refused_syncs: BTreeSet<u64>,
    live: Vec<String>,
    ended: Vec<String>,
    /// Sessions whose end was refused.
    open: Vec<String>,
    pub(super) acknowledged: usize,
    pub(super) refused: usize,
}

impl Ledger {
    /// One write of each kind. Gives how many were refused.
    pub(super) fn write(&mut self, node: &Node, stage: &Stage) -> usize {
        let before = self.refused;
        self.next += 1;
        let number = self.next;
        self.block(node);
        for _ in 0..2 {
            let answer = node.post(&stage.platform().mint_code(number % 20 + 1));
            if self.count(&answer) {
                self.live.push(answer.body["data"]["token"].as_str().unwrap().to_owned());
            }
        }
        if self.live.len() > 1 {
            let token = self.live.remove(0);
            let ended = node.try_sign_out(&token).unwrap();
            if self.count(&ended) { &mut self.ended } else { &mut self.open }.push(token);
        }
        let synced = node.try_manage("POST", "/bot/sync?replace=guilds", &lines(number)).unwrap();
        if self.count(&synced) {
            self.synced = number;
        } else {
            self.refused_syncs.insert(number);
        }
        self.refused - before
    }

    /// One write that does not end with a checkpoint.
    pub(super) fn block(&mut self, node: &Node) {
        self.next += 1;
        let user = 1000 + self.next;
        let blocked = node.try_manage("PUT", &format!("/bot/blocked/{user}"), "").unwrap();
        if self.count(&blocked) { &mut self.blocked } else { &mut self.refused_blocks }.insert(user);
    }

    fn count(&mut self, answer: &Answer) -> bool {
        let done = is_done(answer);
        *(if done { &mut self.acknowledged } else { &mut self.refused }) += 1;
        done
    }

    /// Public answers are those of what was acknowledged, and of nothing else.
    pub(super) fn check_answers(&self, node: &Node) {
        for path in ["/", "/team", "/feedback"] {
            assert_eq!(node.try_get(path).unwrap().status, 200, "{path}");
        }
        for token in &self.live {
            let answer = node.guilds(token);
            assert_eq!(answer.status, 200, "an acknowledged session is lost: {}", answer.body);
            assert_eq!(answer.body["data"][0]["members"], self.synced, "{}", answer.body);
        }
        for token in &self.ended {
            assert_eq!(node.guilds(token).status, 401, "an ended session is back");
        }
    }

    /// Sessions are what they are or unavailable; what is in memory is answered. Gives whether any was unavailable.
    pub(super) fn check_while_reads_fail(&self, node: &Node) -> bool {
        let asked =
            self.live.iter().map(|token| (token, 200)).chain(self.ended.iter().map(|token| (token, 401)));
        let unavailable = asked.filter(|(token, known)| {
            let answer = node.guilds(token);
            let unavailable = answer.status != *known;
            assert!(!unavailable || !is_done(&answer), "an ended session is back");
            unavailable
        });
        let some_unavailable = unavailable.count() > 0;
        for path in ["/", "/team", "/feedback"] {
            assert_eq!(node.try_get(path).unwrap().status, 200, "{path}");
        }
        some_unavailable
    }

    /// What is stored is what was acknowledged. Where `certain`, it has nothing that was refused; otherwise it may have, but
    /// whole. Takes over what is so. Gives it, and the sessions.
    pub(super) fn check_stored(&mut self, stage: &Stage, certain: bool) -> Stored {
        let exported = stage.done(&["export"], STORAGE);
        let records: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &'static str| records.iter().filter(move |record| record["kind"] == kind);
        let blocked: BTreeSet<u64> =
            of("blocked").map(|record| record["user"].as_str().unwrap().parse().unwrap()).collect();
        assert!(blocked.is_superset(&self.blocked), "{:?} are lost", self.blocked.difference(&blocked));
        let more: BTreeSet<_> = blocked.difference(&self.blocked).copied().collect();
        assert!(more.is_subset(&self.refused_blocks), "{more:?}");
        let syncs: BTreeSet<_> = of("guild").map(|record| record["members"].as_u64().unwrap()).collect();
        assert_eq!((of("guild").count() as u64, syncs.len()), (GUILDS, 1), "half a sync: {syncs:?}");
        let synced = *syncs.first().unwrap();
        assert!(synced == self.synced || self.refused_syncs.contains(&synced), "{synced} is stored");
        if certain {
            assert!(
                more.is_empty() && synced == self.synced,
                "{more:?} and {synced} were refused, and are there"
            );
        }
        (self.blocked, self.synced) = (blocked.clone(), synced);
        let sessions = of("session").map(|record| record["id"].as_str().unwrap().to_owned()).collect();
        Stored { blocked, synced, sessions }
    }

    /// Asks about sessions whose end was refused, which may have ended or not, and takes over what is so.
    pub(super) fn settle_sessions(&mut self, node: &Node, certain: bool) {
        for token in self.open.drain(..) {
            match node.guilds(&token).status {
                200 => self.live.push(token),
                401 if !certain => self.ended.push(token),
                status => panic!("{status}"),
            }
        }
    }
}

fn lines(members: u64) -> String {
    let line = |id: u64| {
        let mut line = guild(members);
        (line["kind"], line["id"]) = (json!("guild"), json!(guild_of(id).to_string()));
        line.to_string() + "\n"
    };
    (1..=GUILDS).map(line).collect()
}
