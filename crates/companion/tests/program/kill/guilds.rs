//! Guilds that are written and removed one by one.

use super::{Dice, kills};
use crate::{http, program::Program};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    thread,
};
use tempfile::TempDir;

/// How many write at once, each to guilds of its own.
const WRITERS: u64 = 4;
const GUILDS_OF_A_WRITER: u64 = 12;

/// What is known of a guild: how many members it has, or that it is not there.
type State = Option<u64>;

/// What a writer knows of its guilds.
#[derive(Default)]
struct Ledger {
    acknowledged: HashMap<u64, State>,
    /// The write that was not answered: it may have happened or not.
    open: Option<(u64, State)>,
}

impl Ledger {
    fn last_acknowledged(&self, guild: u64) -> State {
        self.acknowledged.get(&guild).copied().flatten()
    }

    /// Compares with what is stored, and takes that over.
    fn check(&mut self, stored: &HashMap<u64, u64>, guilds: impl Iterator<Item = u64>) {
        let open = self.open.take();
        for guild in guilds {
            let (found, known) = (stored.get(&guild).copied(), self.last_acknowledged(guild));
            let undecided = open.filter(|(written, _)| *written == guild).map(|(_, state)| state);
            assert!(
                found == known || Some(found) == undecided,
                "guild {guild}: {found:?} is stored, {known:?} was acknowledged, {undecided:?} was not answered"
            );
            self.acknowledged.insert(guild, found);
        }
    }
}

fn guilds_of(writer: u64) -> impl Iterator<Item = u64> {
    (0..GUILDS_OF_A_WRITER).map(move |number| 1 + writer * 1000 + number)
}

#[test]
fn what_was_acknowledged_outlives_a_kill() {
    let kills = kills();
    let folder = Arc::new(TempDir::new().unwrap());
    let mut ledgers: Vec<_> = (0..WRITERS).map(|_| Ledger::default()).collect();
    let mut dice = Dice(1);
    let mut writes = 0;
    for kill in 0..kills {
        let mut service = serving(&folder);
        let management = service.management();
        let (heard, hear) = channel();
        let writers: Vec<_> = ledgers
            .drain(..)
            .zip(0..)
            .map(|(ledger, writer)| {
                let (management, heard) = (management.clone(), heard.clone());
                thread::spawn(move || write(&management, writer, kill, ledger, &heard))
            })
            .collect();
        let moment = 20 + dice.roll(120);
        for _ in 0..moment {
            hear.recv().unwrap();
        }
        writes += moment;
        service.signal("KILL");
        ledgers.extend(writers.into_iter().map(|writer| writer.join().unwrap()));
        service.finish();
        let stored = stored(&folder);
        for (ledger, writer) in ledgers.iter_mut().zip(0..) {
            ledger.check(&stored, guilds_of(writer));
        }
    }
    println!("{kills} kills under load, at least {writes} acknowledged writes, none lost, none undone");
}

fn serving(folder: &Arc<TempDir>) -> crate::program::Running {
    Program::within(folder, &["serve"])
        .env("COMPANION_HTTP__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__LISTEN", "127.0.0.1:0")
        .env("COMPANION_MANAGEMENT__KEY", "the-management-key")
        .start()
}

/// Writes until an answer fails to come. Tells of every answer.
fn write(management: &str, writer: u64, kill: u32, mut ledger: Ledger, heard: &Sender<()>) -> Ledger {
    let mut dice = Dice(u64::from(kill) * WRITERS + writer);
    let guilds: Vec<_> = guilds_of(writer).collect();
    for count in 1.. {
        let guild = guilds[usize::try_from(dice.roll(GUILDS_OF_A_WRITER)).unwrap()];
        let (method, state) = if dice.roll(3) == 0 {
            ("DELETE", None)
        } else {
            ("PUT", Some(u64::from(kill) * 1_000_000 + count))
        };
        ledger.open = Some((guild, state));
        let path = format!("/bot/guilds/{guild}");
        let body = state.map_or_else(String::new, |members| body(members).to_string());
        let key = ("Authorization", "Bearer the-management-key");
        let Some(answer) = http::send(management, method, &path, &[key], &body) else { return ledger };
        assert_eq!(answer.status, 200, "{}", answer.body);
        ledger.acknowledged.insert(guild, state);
        ledger.open = None;
        // The listener is gone once it has heard enough; the kill ends this loop.
        let _ = heard.send(());
    }
    ledger
}

fn body(members: u64) -> Value {
    json!({
        "name": "Guild", "icon": null, "members": members, "owner": "1", "setup": true, "linked": false, "roles": {},
    })
}

/// The guilds in the database, with their members.
fn stored(folder: &Arc<TempDir>) -> HashMap<u64, u64> {
    let exported = Program::within(folder, &["export"]).finish();
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let record = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let guild = |record: Value| {
        (record["id"].as_str().unwrap().parse().unwrap(), record["members"].as_u64().unwrap())
    };
    exported.out.lines().map(record).filter(|record| record["kind"] == "guild").map(guild).collect()
}
