//! Measures a sync of a large bot against plain prepared inserts of the same rows.

use crate::place::{Database, Place, Plain};
use crate::sample::{Made, guild, member};
use companion_domain::{
    change::{Key, Kind, Tally},
    port::{Record, Records, Replace},
};
use companion_storage_diesel::DieselStorage;
use diesel::{Connection, ExpressionMethods, RunQueryDsl};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

const GUILDS: u64 = 100_000;
const MEMBERS: u64 = 300_000;

diesel::table! {
    guilds (id) {
        id -> BigInt,
        name -> Text,
        icon -> Nullable<Text>,
        members -> BigInt,
        owner -> BigInt,
        setup -> Bool,
        linked -> Bool,
        bindings -> Text,
    }
}
diesel::table! {
    members (guild, user_id) {
        guild -> BigInt,
        user_id -> BigInt,
        roles -> Text,
    }
}

/// Inserts the same rows plainly, and returns how long that took.
macro_rules! plain_inserts {
    ($connection:ident) => {{
        let begun = Instant::now();
        $connection
            .transaction::<_, diesel::result::Error, _>(|connection| {
                for number in 0..GUILDS {
                    let guild = guild(number, 0);
                    diesel::insert_into(guilds::table)
                        .values((
                            guilds::id.eq(guild.id.get().cast_signed()),
                            guilds::name.eq(guild.name.as_str()),
                            guilds::icon.eq(guild.icon.as_ref().map(|icon| icon.as_str())),
                            guilds::members.eq(i64::from(guild.members.get())),
                            guilds::owner.eq(guild.owner.get().cast_signed()),
                            guilds::setup.eq(guild.setup),
                            guilds::linked.eq(guild.linked),
                            guilds::bindings
                                .eq("{\"ADMIN\":[\"1000000000001\",\"1000000000002\"],\"MOD\":[\"1\"]}"),
                        ))
                        .execute(connection)?;
                }
                for number in 0..MEMBERS {
                    let member = member(number, GUILDS);
                    diesel::insert_into(members::table)
                        .values((
                            members::guild.eq(member.guild.get().cast_signed()),
                            members::user_id.eq(member.user.get().cast_signed()),
                            members::roles.eq("1000000000001 1000000000002"),
                        ))
                        .execute(connection)?;
                }
                Ok(())
            })
            .unwrap();
        begun.elapsed()
    }};
}

pub(crate) async fn run(database: Database) {
    println!("\nA sync of {GUILDS} guilds and {MEMBERS} members\n");
    println!(
        "| what | time | added | changed | removed | longest read meanwhile | longest write meanwhile | most memory, before and during |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let plain_place = Place::new(database);
    let plain = match plain_place.plain() {
        Plain::Sqlite(mut connection) => plain_inserts!(connection),
        Plain::Postgres(mut connection) => plain_inserts!(connection),
    };
    println!("| plain prepared inserts, one transaction | {plain:.1?} | | | | | | |");
    let place = Place::new(database);
    let storage = place.open().await;
    for (what, edition, every) in [
        ("sync into an empty store", 0, 1),
        ("the same again", 0, 1),
        ("one guild in a hundred renamed", 1, 100),
        ("every guild renamed", 2, 1),
    ] {
        let records = (0..GUILDS)
            .map(move |number| {
                let edition = if number % every == 0 { edition } else { 0 };
                Record::Guild(guild(number, edition))
            })
            .chain((0..MEMBERS).map(|number| Record::Member(member(number, GUILDS))));
        measure(&storage, what, records).await;
    }
    measure(&storage, "everything goes", std::iter::empty()).await;
    storage.close().await;
    drop(storage);
}

async fn measure(storage: &DieselStorage, what: &str, records: impl Iterator<Item = Record> + Send) {
    let before = memory("VmRSS");
    forget_peak();
    let done = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn(longest_read(storage.clone(), Arc::clone(&done)));
    let writing = tokio::spawn(longest_write(storage.clone(), Arc::clone(&done)));
    let replace = Replace { kinds: [Kind::Guild, Kind::Member].into(), shard: None };
    let begun = Instant::now();
    let tally = storage.sync(&replace, &mut Made::new(records)).await.unwrap().tally;
    let taken = begun.elapsed();
    done.store(true, Relaxed);
    let (read, write) = (reading.await.unwrap(), writing.await.unwrap());
    let Tally { added, changed, removed } = tally;
    println!(
        "| {what} | {taken:.1?} | {added} | {changed} | {removed} | {read:.1?} | {write:.1?} | {before} → {} MiB |",
        memory("VmHWM")
    );
}

async fn longest_read(storage: DieselStorage, done: Arc<AtomicBool>) -> Duration {
    let mut longest = Duration::ZERO;
    while !done.load(Relaxed) {
        let begun = Instant::now();
        storage.find(&Key::Guild(guild(7, 0).id)).await.unwrap();
        longest = longest.max(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    longest
}

async fn longest_write(storage: DieselStorage, done: Arc<AtomicBool>) -> Duration {
    let mut longest = Duration::ZERO;
    let mut number = 0;
    while !done.load(Relaxed) {
        let begun = Instant::now();
        number += 1;
        // A write that times out during a merge counts with the time that it waited.
        let _ = storage.put(Record::Blocked(crate::sample::user(number))).await;
        longest = longest.max(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    longest
}

/// Returns a memory figure of this process in mebibytes, if the system provides it.
fn memory(figure: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(figure));
    let kibibytes =
        line.and_then(|line| line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok());
    kibibytes.unwrap_or(0) / 1024
}

/// Resets the peak memory figure, if the system allows it.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
