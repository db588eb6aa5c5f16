//! The program on a disk that fails: whatever the disk does, nobody is told that something was written which is not there
//! later, and nothing is half written.

mod failing;
mod ledger;
mod two_programs;

use crate::stage::{Stage, until};
use failing::{Disk, STORAGE};
use ledger::Ledger;
use std::time::Duration;

/// After how many calls that work the disk fails: each of these for each fault, if this variable says so; otherwise one for
/// each of the usual faults.
const FULL_VARIABLE: &str = "DISK";
const CALLS: [u32; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144];
const PATIENCE: Duration = Duration::from_secs(10);

/// What becomes of writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// They are refused until a restart: nobody knows what the disk has.
    GivenUp,
    /// They are refused, and were not made, until the disk works again.
    Refused,
    /// They are made. The log has them, and the database follows when it can.
    Made,
}

/// What fails, and how the program bears it. 5 is an error of the device, 28 a disk without room.
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

/// Places in [`FAULTS`]: each outcome, and each of sync, short and write.
const USUAL_FAULTS: [usize; 3] = [0, 4, 7];

fn is_full() -> bool {
    std::env::var(FULL_VARIABLE).is_ok_and(|value| value == "full")
}

/// Lets the disk fail under writes, work again, and the program be killed. Gives how many writes were acknowledged and refused.
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
    // Whoever writes goes on for a while after the first failure.
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
        until(&case, PATIENCE, || node.is_ready());
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
fn on_a_disk_that_fails_nothing_acknowledged_is_lost_and_nothing_is_half_made() {
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
fn while_reads_fail_nobody_is_signed_out_and_what_is_in_memory_is_answered() {
    let Some(disk) = Disk::new() else { return };
    let (stage, mut ledger) = (Stage::new(), Ledger::default());
    let node = disk.serve(&stage);
    ledger.write(&node, &stage);
    node.stop();
    let node = disk.serve(&stage);
    until("a request meets a read that fails", PATIENCE, || {
        // SQLite forgets the pages that it has read once another has written.
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
fn an_end_on_a_disk_that_fails_is_orderly_and_loses_nothing() {
    let Some(disk) = Disk::new() else { return };
    for fault in [
        "write companion.db 5 0",
        "write companion.db 28 1",
        "sync companion.db 5 0",
        "truncate companion.db-wal 5 0",
    ] {
        let (stage, mut ledger) = (Stage::new(), Ledger::default());
        let node = disk.serve(&stage);
        ledger.write(&node, &stage);
        ledger.block(&node);
        disk.fail(fault);
        node.stop();
        assert!(disk.work() > 0, "{fault}");
        ledger.check_stored(&stage, true);
        ledger.check_answers(&stage.serve(STORAGE));
    }
}

#[test]
fn a_first_start_on_a_disk_that_fails_is_refused_and_in_nobodys_way_later() {
    let Some(disk) = Disk::new() else { return };
    let mut cases = 0;
    for (fault, _) in FAULTS {
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
