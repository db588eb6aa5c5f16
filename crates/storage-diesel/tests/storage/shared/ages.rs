//! Databases of every schema version, with data written at that version.
//!
//! A new migration needs a file of its name in the folder beside this one, with statements that fill its tables. The
//! first line says how many readable records they add to an export. These are listed in `exported.txt`, which
//! `COMPANION_WRITE_SNAPSHOT=1` writes; check below what is not exported.

use super::Place;
use crate::sample::{CAP, Collected, NONE_ENDED};
use companion_domain::{
    change::{Change, Changes, Key, Kind, Revision, Subject},
    model::{CodeFingerprint, Timestamp, UserId},
    port::{
        BotTelemetry, ChangeFeed, Claimed, FeedbackStore, GrantContent, GrantStore, Health, ListingScope,
        Listings, Mutation, PlatformPause, PlatformPauses, Record, Records, SessionStore, SettingsStore,
        SignIns, SpentCodes, StoreErrorKind,
    },
};
use companion_storage_diesel::DieselStorage;
use companion_testkit::{
    entropy::SeededEntropy,
    world::{a_feedback, a_guild, a_heartbeat, a_session, a_subscription, at, guild_id, user_id},
};
use std::{fs, path::Path, time::Duration};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/storage/shared/ages");

/// Returns the names of all migrations, in order.
pub(crate) fn steps<P: Place>() -> Vec<String> {
    let found = fs::read_dir(P::STEPS).unwrap();
    let mut steps: Vec<_> = found.map(|step| step.unwrap().file_name().into_string().unwrap()).collect();
    steps.sort();
    steps
}

/// Returns the statements that fill the tables of a migration.
fn statements(step: &str) -> String {
    let file = Path::new(FIXTURES).join(format!("{step}.sql"));
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns how many readable records of an export the data of a migration adds.
fn readable(step: &str) -> usize {
    let statements = statements(step);
    let first = statements.strip_prefix("-- ").and_then(|rest| rest.split_once(" more readable records"));
    first.unwrap_or_else(|| panic!("{step}: the first line has no count")).0.parse().unwrap()
}

/// Returns a database after these migrations, each followed by its data.
fn aged<P: Place>(steps: &[String]) -> P {
    let place = P::new();
    place.apply_next_steps(steps.iter().map(|step| P::in_dialect(&statements(step))));
    place
}

pub(crate) async fn opens_a_database_of_every_schema_version_with_its_data<P: Place>() {
    let steps = steps::<P>();
    for age in (0..=steps.len()).step_by(P::AGES) {
        let (past, future) = steps.split_at(age);
        let place = aged::<P>(past);
        assert_eq!(place.pending().unwrap(), future, "at age {age}");
        let storage = place.open().await;
        assert_eq!(place.pending().unwrap(), Vec::<String>::new());
        storage.check().await.unwrap();
        let exported = exported(&storage).await;
        let readable: usize = past.iter().map(|step| readable(step)).sum();
        assert_eq!(exported.len(), readable, "at age {age}: {exported:#?}");
        if future.is_empty() {
            equals_snapshot(&exported);
            keeps_what_is_not_exported(&storage).await;
        }
        goes_on(&storage).await;
    }
}

async fn exported(storage: &DieselStorage) -> Vec<String> {
    let mut kept = Collected::default();
    storage.export(&mut kept).await.unwrap();
    kept.0.iter().map(|record| format!("{record:?}")).collect()
}

/// Compares the records of a database with data of all versions with the file of the same.
fn equals_snapshot(exported: &[String]) {
    let file = Path::new(FIXTURES).join("exported.txt");
    let exported = exported.join("\n") + "\n";
    if std::env::var_os("COMPANION_WRITE_SNAPSHOT").is_some() {
        fs::write(&file, &exported).unwrap();
    }
    assert_eq!(exported, fs::read_to_string(&file).unwrap());
}

async fn keeps_what_is_not_exported(storage: &DieselStorage) {
    history(storage).await;
    assert_eq!(guild_subscriptions(storage, 1).await, [user_id(9)]);
    let mut shown = storage.pick_positive(5, SeededEntropy::default().seed()).await.unwrap();
    shown.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    assert_eq!(shown.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["Splendid", "Fine"]);
    clusters(storage).await;
    grants(storage).await;
    let spent = CodeFingerprint::from_bytes([0xBB; 32]);
    assert!(!storage.spend(&spent, at(3_999_999_900), at(4_000_000_500)).await.unwrap());
    let wait = Duration::from_secs(5);
    let pause = PlatformPause { said_at: Timestamp::from_micros(4_000_000_000_000_000), wait };
    assert_eq!(storage.current().await.unwrap(), Some(pause));
    let unreadable = SettingsStore::find(storage, guild_id(2)).await;
    assert_eq!(unreadable.map_err(|error| error.kind), Err(StoreErrorKind::Corrupt));
}

async fn history(storage: &DieselStorage) {
    assert_eq!(storage.latest().await.unwrap(), Revision(43));
    let change = |revision, subject| Change { revision: Revision(revision), subject };
    let told = [
        change(41, Subject::Many(Kind::Team)),
        change(42, Subject::Many(Kind::Cluster)),
        change(43, Subject::Many(Kind::Feedback)),
    ];
    assert_eq!(storage.since(Revision(40)).await.unwrap(), Changes::Listed(told.into()));
    assert_eq!(storage.since(Revision(39)).await.unwrap(), Changes::Gap(Revision(43)));
}

/// Returns the users whose subscriptions name a guild.
async fn guild_subscriptions(storage: &DieselStorage, guild: u64) -> Vec<UserId> {
    let listing = storage.read(user_id(7), ListingScope::Guild(guild_id(guild))).await.unwrap();
    listing.guild_subscriptions.iter().map(|subscription| subscription.user).collect()
}

async fn clusters(storage: &DieselStorage) {
    let clusters = storage.clusters().await.unwrap();
    let [cluster] = &clusters[..] else { panic!("{clusters:?}") };
    assert_eq!((cluster.cluster.as_str(), cluster.memory.get()), ("eu-1", 12.5));
    assert_eq!((cluster.started_at, cluster.received_at), (at(1_700_000_000), at(1_700_000_001)));
    assert_eq!(cluster.shards.iter().count(), 1);
}

async fn grants(storage: &DieselStorage) {
    let unreadable = GrantStore::find(storage, user_id(10)).await.unwrap_err();
    assert_eq!(unreadable.kind, StoreErrorKind::Corrupt);
    // The holder of this claim died long ago.
    let version = GrantStore::find(storage, user_id(8)).await.unwrap().unwrap().version;
    let claim =
        async |dead| storage.claim_refresh(user_id(8), version, at(1_800_000_001), dead).await.unwrap();
    let Claimed::Held(until) = claim(None).await else { panic!("the claim is not held") };
    assert_eq!(claim(Some(until)).await, Claimed::Granted);
    assert_eq!(storage.unused(None, CAP).await.unwrap(), [8, 9, 10].map(user_id));
    // A new version is higher than every migrated one.
    let before = GrantStore::find(storage, user_id(7)).await.unwrap().unwrap();
    assert_eq!(before.content.tokens.unwrap().as_bytes(), [1, 2]);
    storage.begin(&a_session(4, 7, at(1)), CAP, NONE_ENDED, &GrantContent::default()).await.unwrap();
    let version = GrantStore::find(storage, user_id(7)).await.unwrap().unwrap().version;
    assert!(version > before.version, "{version:?}");
}

/// Checks that such a database accepts and keeps new writes.
async fn goes_on(storage: &DieselStorage) {
    storage.put(Record::Guild(a_guild(2))).await.unwrap();
    assert!(Records::find(storage, &Key::Guild(guild_id(2))).await.unwrap().is_some());
    storage.put(Record::Subscription(a_subscription(11, &[2]))).await.unwrap();
    assert_eq!(guild_subscriptions(storage, 2).await, [user_id(11)]);
    storage.put(Record::Feedback(a_feedback("f-4", 5))).await.unwrap();
    assert!(FeedbackStore::find(storage, &"f-4".parse().unwrap()).await.unwrap().is_some());
    storage.write(Mutation::Report(a_heartbeat("eu-0", at(1_800_000_000)))).await.unwrap();
    assert!(storage.clusters().await.unwrap().iter().any(|cluster| cluster.cluster.as_str() == "eu-0"));
    storage.begin(&a_session(3, 7, at(1)), CAP, NONE_ENDED, &GrantContent::default()).await.unwrap();
    assert!(!storage.revoke_user(user_id(7)).await.unwrap().is_empty());
    storage.check().await.unwrap();
}
