//! Measures how long other requests wait while a large world is compared and merged.

use crate::sample::{Made, guild, sign_in};
use companion_domain::{
    change::Kind,
    model::Timestamp,
    port::{Health, Mutation, Record, Records, Replace},
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::{
    entropy::SeededEntropy,
    world::{a_heartbeat, user_id},
};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

const GUILDS: u64 = 600_000;
const DIFFERING: u64 = 20_000;
/// Pause of each of the other clients between two requests.
const REST: Duration = Duration::from_millis(3);

/// Returns the edition of a guild with this number.
type Edition = fn(u64) -> u64;

pub(crate) async fn run(storage: DieselStorage) {
    println!("\nThe longest wait of others while {GUILDS} guilds are synced (and how many were refused)\n");
    println!("| sync | time | differing | a write of the feed | a sign-in | a heartbeat | a health check |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let chance = Arc::new(SeededEntropy::new(1));
    let at_random = |number| if is_drawn(number) { 3 } else { side_by_side(number) };
    let syncs: [(&str, Edition); 5] = [
        ("into an empty store", |_| 0),
        ("the same again", |_| 0),
        ("some renamed, far apart", far_apart),
        ("some renamed, side by side", side_by_side),
        ("some renamed, at random", at_random),
    ];
    for (what, edition) in syncs {
        measure(&storage, &chance, what, edition).await;
    }
    storage.close().await;
}

/// Returns the edition of a guild if only the first ones have a new edition.
const fn side_by_side(number: u64) -> u64 {
    if number < DIFFERING { 2 } else { far_apart(number) }
}

/// Returns whether a guild is in a pseudo-random sample of about `DIFFERING` guilds: some pages hold several of its
/// rows, others none.
const fn is_drawn(number: u64) -> bool {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)).is_multiple_of(GUILDS / DIFFERING)
}

/// Returns the edition of a guild if every n-th one has a new edition.
const fn far_apart(number: u64) -> u64 {
    number.is_multiple_of(GUILDS / DIFFERING) as u64
}

async fn measure(storage: &DieselStorage, chance: &Arc<SeededEntropy>, what: &str, edition: Edition) {
    let done = Arc::new(AtomicBool::new(false));
    let feed = others(storage, &done, |storage, number| async move {
        storage.put(Record::Blocked(user_id(number + 1))).await.map(drop)
    });
    let chance = Arc::clone(chance);
    let sign_ins = others(storage, &done, move |storage, number| {
        let chance = Arc::clone(&chance);
        async move { sign_in(&storage, &chance, number).await }
    });
    let heartbeats = others(storage, &done, |storage, number| async move {
        let received_at = Timestamp::from_micros(number.cast_signed());
        storage.write(Mutation::Report(a_heartbeat("one", received_at))).await.map(drop)
    });
    let checks = others(storage, &done, |storage, _| async move { storage.check().await });
    let records = (0..GUILDS).map(|number| Record::Guild(guild(number, edition(number))));
    let replace = Replace { kinds: [Kind::Guild].into(), shard: None };
    let begun = Instant::now();
    let tally = storage.sync(&replace, &mut Made(records.enumerate())).await.unwrap().tally;
    let taken = begun.elapsed();
    done.store(true, Relaxed);
    let differing = tally.added + tally.changed + tally.removed;
    let (feed, sign_ins) = (feed.await.unwrap(), sign_ins.await.unwrap());
    let (heartbeats, checks) = (heartbeats.await.unwrap(), checks.await.unwrap());
    println!("| {what} | {taken:.1?} | {differing} | {feed} | {sign_ins} | {heartbeats} | {checks} |");
}

/// The longest wait, and the number of rejected requests.
#[derive(Default)]
struct Waits {
    longest: Duration,
    refused: u32,
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms ({})", self.longest.as_millis(), self.refused)
    }
}

/// Repeats a request until the sync is done.
fn others<A, F, E>(storage: &DieselStorage, done: &Arc<AtomicBool>, ask: A) -> JoinHandle<Waits>
where
    A: Fn(DieselStorage, u64) -> F + Send + 'static,
    F: Future<Output = Result<(), E>> + Send,
    E: Send,
{
    let (storage, done) = (storage.clone(), Arc::clone(done));
    tokio::spawn(async move {
        let mut waits = Waits::default();
        let mut number = 0;
        while !done.load(Relaxed) {
            number += 1;
            let begun = Instant::now();
            let answer = ask(storage.clone(), number).await;
            waits.longest = waits.longest.max(begun.elapsed());
            waits.refused += u32::from(answer.is_err());
            tokio::time::sleep(REST).await;
        }
        waits
    })
}
