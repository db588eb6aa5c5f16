//! The program on a failing disk: no acknowledged write is lost, and no write is partial.

use crate::{
    http::Answer,
    program::Program,
    stage::{Node, Stage, exported_guilds, feed, guild, guild_of, is_unavailable, sync_lines, until},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Number of calls that succeed before the disk fails. The full form, set by this variable, tries each of them with
/// each fault; the default form tries one with each of the usual faults.
const FULL_VARIABLE: &str = "DISK";
const CALLS: [u32; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// The effect on writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// Refused until a restart, because the state of the disk is unknown.
    GivenUp,
    /// Refused and not applied, until the disk works again.
    Refused,
    /// Applied. The log has them, and the database is updated later.
    Made,
}

/// The faults and their outcomes. Error 5 is EIO, 28 is ENOSPC.
const FAULTS: [(&str, Outcome); 9] = [
    ("sync companion.db-wal 5", Outcome::GivenUp),
    ("write companion.db-wal 5", Outcome::GivenUp),
    ("short companion.db-wal 5", Outcome::GivenUp),
    ("write companion.db-wal 28", Outcome::Refused),
    ("short companion.db-wal 28", Outcome::Refused),
    ("sync companion.db 5", Outcome::Made),
    ("write companion.db 5", Outcome::Made),
    ("write companion.db 28", Outcome::Made),
    ("short companion.db 28", Outcome::Made),
];

/// Indices into [`FAULTS`]: each outcome, and each of sync, short and write.
const USUAL_FAULTS: [usize; 3] = [0, 4, 7];

fn is_full() -> bool {
    std::env::var(FULL_VARIABLE).is_ok_and(|value| value == "full")
}

/// Bound of the propagation of a change to the other program.
const PROPAGATION: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often each program changes the same guild.
const CHANGES: u64 = 10;
/// Writes before one of the programs is killed.
const WRITES: u64 = 60;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/disk/shim.c");
const STORAGE: &str = "sqlite:companion.db";

/// A shim between a program and its disk.
struct Disk(TempDir);

impl Disk {
    /// Returns `None` if there is no C compiler.
    fn new() -> Option<Self> {
        let disk = Self(TempDir::new().unwrap());
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(disk.file("shim.so"))
            .arg(SOURCE)
            .output();
        let Ok(compiled) = compiled else {
            println!("disk: skipped, as there is no C compiler");
            return None;
        };
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(disk)
    }

    /// Creates a program whose database is on this disk.
    fn program(&self, stage: &Stage, arguments: &[&str]) -> Program {
        stage
            .program(arguments, STORAGE)
            // No sign-in evicts another session.
            .env("COMPANION_SESSIONS__PER_USER", "1000")
            .env("LD_PRELOAD", self.file("shim.so").to_str().unwrap())
            .env("FAULT", self.file("fault").to_str().unwrap())
    }

    fn serve(&self, stage: &Stage) -> Node {
        Node::of(self.program(stage, &["serve"]).start())
    }

    /// Makes the disk fail from now on, as described in `shim.c`.
    fn fail(&self, fault: &str) {
        let next = self.file("next");
        fs::write(&next, fault).unwrap();
        fs::rename(next, self.file("fault")).unwrap();
    }

    /// Returns the number of failures since the disk last worked.
    fn failures(&self) -> usize {
        fs::read(self.file("fault.met")).unwrap_or_default().len()
    }

    /// Makes the disk work again. Returns the number of failures before.
    fn work(&self) -> usize {
        fs::remove_file(self.file("fault")).unwrap();
        let failures = self.failures();
        let _ = fs::remove_file(self.file("fault.met"));
        failures
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Guilds per sync. The first twenty have an owner who is a user.
const GUILDS: u64 = 40;

/// Whether the write succeeded. Otherwise the error must be that of storage.
fn is_done(answer: &Answer) -> bool {
    assert!(answer.status == 200 || is_unavailable(answer), "{}", answer.body);
    answer.status == 200
}

/// The stored part of the written data.
#[derive(Debug, PartialEq)]
struct Stored {
    blocked: BTreeSet<u64>,
    synced: u64,
    sessions: BTreeSet<String>,
}

/// The expected results of writes of several kinds.
#[derive(Default)]
struct Ledger {
    next: u64,
    blocked: BTreeSet<u64>,
    /// Users whose block was refused.
    refused_blocks: BTreeSet<u64>,
    /// The last acknowledged sync. Its number is the member count of each guild.
    synced: u64,
    refused_syncs: BTreeSet<u64>,
    live: Vec<String>,
    ended: Vec<String>,
    /// Sessions whose end was refused.
    open: Vec<String>,
    acknowledged: usize,
    refused: usize,
}

impl Ledger {
    /// Makes one write of each kind. Returns how many were refused.
    fn write(&mut self, node: &Node, stage: &Stage) -> usize {
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
        let lines = sync_lines((1..=GUILDS).map(guild_of), &guild(number));
        let synced = node.try_manage("POST", "/bot/sync?replace=guilds", &lines).unwrap();
        if self.count(&synced) {
            self.synced = number;
        } else {
            self.refused_syncs.insert(number);
        }
        self.refused - before
    }

    /// Makes one write that does not trigger a checkpoint.
    fn block(&mut self, node: &Node) {
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

    /// Asserts that public responses show exactly what was acknowledged.
    fn check_answers(&self, node: &Node) {
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

    /// Asserts that sessions are right or unavailable, and that cached data is served. Returns whether any session was
    /// unavailable.
    fn check_while_reads_fail(&self, node: &Node) -> bool {
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

    /// Asserts that the stored data is what was acknowledged. If `certain`, refused writes must be absent; otherwise
    /// they may be present, but complete. Adopts and returns the stored state.
    fn check_stored(&mut self, stage: &Stage, certain: bool) -> Stored {
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

    /// Queries the sessions whose end was refused, which may have ended or not, and adopts their state.
    fn settle_sessions(&mut self, node: &Node, certain: bool) {
        for token in self.open.drain(..) {
            match node.guilds(&token).status {
                200 => self.live.push(token),
                401 if !certain => self.ended.push(token),
                status => panic!("{status}"),
            }
        }
    }
}

/// Makes the disk fail under writes and recover, then kills the program. Returns how many writes were acknowledged and
/// refused.
fn play(disk: &Disk, fault: &str, working: u32, outcome: Outcome) -> (usize, usize) {
    let case = format!("{fault}, after {working} calls");
    let stage = Stage::new();
    let mut ledger = Ledger::default();
    let node = disk.serve(&stage);
    for _ in 0..2 {
        assert_eq!(ledger.write(&node, &stage), 0, "{case}");
    }
    disk.fail(&format!("{fault} {working}"));
    let mut refused = 0;
    // Writes continue for a while after the first failure.
    while disk.failures() == 0 || (refused < 5 && disk.failures() < 5) {
        refused += ledger.write(&node, &stage);
        ledger.check_answers(&node);
    }
    assert_eq!(refused > 0, outcome != Outcome::Made, "{case}");
    assert_eq!(node.is_ready(), outcome == Outcome::Made, "{case}");
    let failed = disk.work();
    if outcome == Outcome::GivenUp {
        assert!(ledger.write(&node, &stage) > 0 && !node.is_ready(), "{case}: a restart is needed");
    } else {
        until(&case, RECOVERY_TIMEOUT, || node.is_ready());
        assert_eq!(ledger.write(&node, &stage), 0, "{case}: all is well again");
    }
    ledger.check_answers(&node);
    node.running.signal("KILL");
    node.running.finish();
    let certain = outcome != Outcome::GivenUp;
    let stored = ledger.check_stored(&stage, certain);
    for _ in 0..2 {
        let node = disk.serve(&stage);
        ledger.settle_sessions(&node, certain);
        ledger.check_answers(&node);
        assert!(node.is_ready(), "{case}");
        node.stop();
        assert_eq!(ledger.check_stored(&stage, true), stored, "{case}: it is another the next time");
    }
    let after = disk.serve(&stage);
    assert_eq!(ledger.write(&after, &stage), 0, "{case}");
    ledger.check_answers(&after);
    println!("{case}: failed {failed} times, {outcome:?}");
    (ledger.acknowledged, ledger.refused)
}

#[test]
fn a_failing_disk_loses_no_acknowledged_write() {
    let Some(disk) = Disk::new() else { return };
    let (mut cases, mut acknowledged, mut refused) = (0, 0, 0);
    for (number, (fault, outcome)) in FAULTS.into_iter().enumerate() {
        let is_usual = |turn| turn == number && USUAL_FAULTS.contains(&number);
        let calls = CALLS.into_iter().enumerate().filter(|(turn, _)| is_full() || is_usual(*turn));
        for (_, working) in calls {
            let (done, not_done) = play(&disk, fault, working, outcome);
            cases += 1;
            acknowledged += done;
            refused += not_done;
        }
    }
    println!(
        "{cases} failures of the disk: {acknowledged} writes acknowledged, none lost; {refused} refused, none half made"
    );
}

#[test]
fn failing_reads_end_no_session_and_memory_is_still_served() {
    let Some(disk) = Disk::new() else { return };
    let (stage, mut ledger) = (Stage::new(), Ledger::default());
    let node = disk.serve(&stage);
    ledger.write(&node, &stage);
    node.stop();
    let node = disk.serve(&stage);
    until("a request meets a read that fails", RECOVERY_TIMEOUT, || {
        // SQLite drops its page cache once another connection has written.
        ledger.block(&node);
        disk.fail("read companion.db 5 0");
        let met = ledger.check_while_reads_fail(&node);
        disk.work() > 0 && met
    });
    ledger.check_answers(&node);
    assert_eq!(ledger.write(&node, &stage), 0);
    assert!(node.is_ready());
}

#[test]
fn stops_gracefully_on_a_failing_disk() {
    let Some(disk) = Disk::new() else { return };
    let faults = [
        "write companion.db 5 0",
        "truncate companion.db-wal 5 0",
        "write companion.db 28 1",
        "sync companion.db 5 0",
    ];
    for fault in &faults[..if is_full() { 4 } else { 2 }] {
        // The checkpoint after a sync may copy the last write too. Then the end has nothing to write.
        until(fault, RECOVERY_TIMEOUT, || {
            let (stage, mut ledger) = (Stage::new(), Ledger::default());
            let node = disk.serve(&stage);
            ledger.write(&node, &stage);
            ledger.block(&node);
            disk.fail(fault);
            node.stop();
            let has_failed = disk.work() > 0;
            ledger.check_stored(&stage, true);
            ledger.check_answers(&stage.serve(STORAGE));
            has_failed
        });
    }
}

#[test]
fn a_failed_first_start_leaves_no_obstacle_for_the_next() {
    let Some(disk) = Disk::new() else { return };
    let mut cases = 0;
    let tried = |number: &usize| is_full() || USUAL_FAULTS.contains(number);
    for (fault, _) in (0..FAULTS.len()).filter(tried).map(|number| FAULTS[number]) {
        // The full form also fails at later calls.
        let working: &[u32] = if is_full() { &[0, 1, 4] } else { &[0] };
        for working in working {
            let stage = Stage::new();
            disk.fail(&format!("{fault} {working}"));
            let finished = disk.program(&stage, &["migrate"]).finish();
            if disk.work() == 0 {
                continue;
            }
            cases += 1;
            if finished.code != Some(0) {
                assert_eq!(finished.code, Some(1), "{fault} {working}: {}", finished.err);
                assert!(finished.err.contains("companion.db"), "{}", finished.err);
            }
            let node = disk.serve(&stage);
            assert_eq!(Ledger::default().write(&node, &stage), 0, "{fault} {working}");
        }
    }
    println!("{cases} first starts on a disk that fails: each next one worked");
}

/// Two programs on one file are a configuration error, but must not cost any data.
#[test]
fn two_programs_on_one_file_lose_nothing_if_one_is_killed() {
    let stage = Stage::new();
    let [one, other] = [(); 2].map(|()| stage.serve(STORAGE));
    let token = one.sign_in(&stage, 1);
    let path = format!("/bot/guilds/{}", guild_of(1));
    let mut worst = Duration::ZERO;
    for members in 1..=2 * CHANGES {
        let (writer, reader) = if members % 2 == 0 { (&one, &other) } else { (&other, &one) };
        writer.manage("PUT", &path, &guild(members).to_string());
        let seen = until("seen by the other", TIMEOUT, || {
            reader.guilds(&token).body["data"][0]["members"] == members
        });
        worst = worst.max(seen);
    }
    assert!(worst < PROPAGATION, "{worst:?}");
    other.sign_out(&token);
    assert!(until("ended for both", TIMEOUT, || one.guilds(&token).status == 401) < PROPAGATION);

    let total = &AtomicU64::new(0);
    let (mut killed, kept) = thread::scope(|scope| {
        let (one, other) = (&one, &other);
        let killed = scope.spawn(move || feed(one, 1000, 2 * WRITES, total, |answer| answer.is_none()));
        let kept = scope.spawn(move || feed(other, 2000, 2 * WRITES, total, |answer| answer.is_none()));
        until("writes", TIMEOUT, || total.load(Relaxed) >= WRITES);
        one.running.signal("KILL");
        (killed.join().unwrap(), kept.join().unwrap())
    });
    assert!(other.is_ready());
    killed.extend(kept);
    let exported = stage.done(&["export"], STORAGE);
    let stored = exported_guilds(&exported);
    for (id, members) in &killed {
        assert_eq!(stored.get(id), Some(members), "guild {id}");
    }
    println!(
        "two programs on one file: each change seen by the other within {worst:.0?}; {} writes of both while one was killed, \
         none lost",
        total.load(Relaxed)
    );
}
