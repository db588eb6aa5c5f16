//! Sessions that begin and end, and syncs of all guilds, each of which is made whole or not at all.

use super::{Dice, kills};
use crate::postgres::stage::{Node, Stage, guild, guild_of};
use serde_json::{Value, json};
use std::{
    sync::mpsc::{Sender, channel},
    thread,
};

const STORAGE: &str = "sqlite:companion.db";
/// How many sign in and out at once, each for a user of its own.
const USERS: u64 = 4;
/// How many guilds a sync brings.
const GUILDS: u64 = 300;

/// What a user knows of their sessions.
#[derive(Default)]
struct Sessions {
    live: Vec<String>,
    ended: Vec<String>,
    /// The one whose end was not answered: it may have ended or not.
    open: Option<String>,
}

impl Sessions {
    /// Begins and ends sessions until an answer fails to come. Tells of every answer.
    fn use_up(mut self, node: &Node, stage: &Stage, user: u64, mut dice: Dice, heard: &Sender<()>) -> Self {
        loop {
            let answered = if self.live.len() < 3 || dice.roll(2) == 0 {
                let Some(answer) = node.try_post(&stage.platform().mint_code(user)) else { return self };
                assert_eq!(answer.status, 200, "{}", answer.body);
                self.live.push(answer.body["data"]["token"].as_str().unwrap().to_owned());
                if self.live.len() > 8 { self.end_one(node, 0) } else { true }
            } else {
                let which = usize::try_from(dice.roll(self.live.len() as u64)).unwrap();
                self.end_one(node, which)
            };
            if !answered {
                return self;
            }
            // The listener is gone once it has heard enough; the kill ends this loop.
            let _ = heard.send(());
        }
    }

    /// Returns whether that was answered.
    fn end_one(&mut self, node: &Node, which: usize) -> bool {
        let token = self.live.remove(which);
        match node.try_sign_out(&token) {
            Some(answer) => {
                assert_eq!(answer.status, 200, "{}", answer.body);
                self.ended.push(token);
                true
            }
            None => {
                self.open = Some(token);
                false
            }
        }
    }

    /// Compares with what the program says now, and takes that over.
    fn check(&mut self, node: &Node) {
        for token in &self.live {
            assert_eq!(node.guilds(token).status, 200, "an acknowledged session is lost");
        }
        for token in &self.ended {
            assert_eq!(node.guilds(token).status, 401, "an ended session is back");
        }
        if let Some(token) = self.open.take() {
            match node.guilds(&token).status {
                200 => self.live.push(token),
                status => {
                    assert_eq!(status, 401);
                    self.ended.push(token);
                }
            }
        }
        // Whoever was ended long ago stays so; a few of them are asked for each time.
        let many = self.ended.len().saturating_sub(40);
        self.ended.drain(..many);
    }
}

/// Brings all guilds in one version after the other until an answer fails to come. Returns the last that was acknowledged, and
/// the one that was not.
fn sync(node: &Node, from: u64, heard: &Sender<()>) -> (u64, u64) {
    let mut version = from;
    loop {
        let line = |id: u64| {
            let mut line = guild(version + 1);
            (line["kind"], line["id"]) = (json!("guild"), json!(guild_of(id).to_string()));
            line.to_string() + "\n"
        };
        let lines: String = (1..=GUILDS).map(line).collect();
        match node.try_manage("POST", "/bot/sync?replace=guilds", &lines) {
            Some(answer) if answer.status == 200 => version += 1,
            Some(answer) => panic!("{}", answer.body),
            None => return (version, version + 1),
        }
        let _ = heard.send(());
    }
}

/// The version in which all guilds are.
fn stored_version(stage: &Stage) -> Option<u64> {
    let exported = stage.done(&["export"], STORAGE);
    let records = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let versions: Vec<_> =
        records.filter(|record| record["kind"] == "guild").map(|record| record["members"].as_u64()).collect();
    let first = versions.first().copied().flatten();
    assert!(versions.iter().all(|version| *version == first), "half of a sync is stored: {versions:?}");
    assert!(versions.is_empty() || versions.len() as u64 == GUILDS, "{} guilds", versions.len());
    first
}

#[test]
fn sessions_their_ends_and_whole_syncs_outlive_a_kill() {
    let kills = kills();
    let stage = Stage::new();
    let mut all: Vec<_> = (0..USERS).map(|_| Sessions::default()).collect();
    let (mut dice, mut version, mut answers) = (Dice(7), 0, 0);
    // A sign-in that was not answered may have left a session, which nobody knows and which would end an older one.
    let serve = || {
        let program = stage.program(&["serve"], STORAGE).env("COMPANION_SESSIONS__PER_USER", "1000");
        Node::of(program.start())
    };
    let mut node = serve();
    for kill in 0..kills {
        let (heard, hear) = channel();
        let moment = 20 + dice.roll(40);
        let synced = thread::scope(|scope| {
            let (node, stage) = (&node, &stage);
            let syncing = {
                let heard = heard.clone();
                scope.spawn(move || sync(node, version, &heard))
            };
            let users: Vec<_> = all
                .drain(..)
                .zip(1..)
                .map(|(sessions, user)| {
                    let (heard, dice) = (heard.clone(), Dice(u64::from(kill) * USERS + user));
                    scope.spawn(move || sessions.use_up(node, stage, user, dice, &heard))
                })
                .collect();
            for _ in 0..moment {
                hear.recv().unwrap();
            }
            node.running.signal("KILL");
            all.extend(users.into_iter().map(|user| user.join().unwrap()));
            syncing.join().unwrap()
        });
        answers += moment;
        node.running.finish();
        let stored = stored_version(&stage).unwrap_or_default();
        assert!(stored == synced.0 || stored == synced.1, "{stored} is stored, {synced:?} were sent");
        version = stored;
        node = serve();
        for sessions in &mut all {
            sessions.check(&node);
        }
    }
    node.stop();
    println!(
        "{kills} kills under load, at least {answers} acknowledged, no session lost, none back, no sync in part"
    );
}
