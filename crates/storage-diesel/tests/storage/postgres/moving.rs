//! Moving all data from one database to the other.

use crate::{
    postgres::schema::Schema,
    sample::{Batches, Kept, feedback, guild, member, session, user},
    shared::Place,
};
use companion_domain::{
    model::{GuildList, Membership, PlatformPermissions, Slots, Subscription, Timestamp},
    port::{Grant, GrantContent, GrantStore, GrantVersion, Record, Records, Replace, Sealed},
};
use companion_storage_diesel::{DieselStorage, SqliteOptions};
use companion_testkit::world::{a_subscription, a_team_member, an_ownership};

/// Returns records of every kind, unordered, with ids beyond `i64::MAX` and text that sorts by bytes.
fn world() -> Vec<Record> {
    let mut records = Vec::new();
    for number in (1..=40).chain([u64::MAX - 1, u64::MAX, 1 << 63]).rev() {
        records.push(Record::Guild(guild(number)));
        for other in [100, 3, u64::MAX] {
            records.push(Record::Member(member(number, other)));
        }
        let slots = Slots::new(number % 5).unwrap();
        records.push(Record::Subscription(Subscription { slots, ..a_subscription(number, &[number, 9]) }));
        records.push(Record::Staff(user(number), ["SUPPORT".parse().unwrap()].into_iter().collect()));
        records.push(Record::Blocked(user(number)));
        records.push(Record::Session(session(number - 1)));
        records.push(Record::Grant(user(number), grant(number)));
    }
    for id in ["b", "B", "a", "_", "-", "Z9", "z", "0"] {
        records.push(Record::Feedback(feedback(id, 5)));
        records.push(Record::Feedback(feedback(&format!("{id}x"), 1)));
    }
    for category in ["Über", "Zoo", "alpha", "Beta"] {
        records.push(Record::Team(a_team_member(1, category, -3)));
    }
    records
}

fn grant(number: u64) -> Grant {
    let membership =
        Membership { permissions: PlatformPermissions::from_bits(number), ..an_ownership(number) };
    let list = GuildList {
        memberships: [membership].into(),
        without_bot: Vec::new(),
        fetched_at: Timestamp::from_micros(-5),
    };
    Grant {
        version: GrantVersion(number % 1000),
        content: GrantContent {
            tokens: number.is_multiple_of(2).then(|| Sealed::from_bytes(number.to_be_bytes().to_vec())),
            list: number.is_multiple_of(3).then_some(list),
            profile: None,
        },
    }
}

async fn exported(storage: &DieselStorage) -> Vec<Record> {
    let mut kept = Kept::default();
    storage.export(&mut kept).await.unwrap();
    kept.0
}

#[tokio::test]
async fn all_records_survive_a_move_to_a_server_and_back() {
    let (folder, schema) = (tempfile::tempdir().unwrap(), Schema::new());
    let file = |name: &str| SqliteOptions::new(folder.path().join(name));
    let first = DieselStorage::open(file("first.db")).await.unwrap();
    let replace = Replace::default();
    first.sync(&replace, &mut Batches::of(world())).await.unwrap();
    let before = exported(&first).await;
    assert_eq!(before.len(), world().len());

    let server = schema.open().await;
    let tally = server.sync(&replace, &mut Batches::of(before.clone())).await.unwrap().tally;
    assert_eq!(tally.added as usize, before.len());
    let moved = exported(&server).await;
    assert_eq!(moved, before);

    let last = DieselStorage::open(file("last.db")).await.unwrap();
    last.sync(&replace, &mut Batches::of(moved)).await.unwrap();
    let back = exported(&last).await;
    assert_eq!(back, before);
    // Later versions of grants are higher than all imported ones.
    for storage in [&server, &last] {
        let version = storage.replace(user(1), &GrantContent::default()).await.unwrap();
        assert!(version > GrantVersion(999), "{version:?}");
    }
}
