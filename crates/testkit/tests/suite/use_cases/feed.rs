//! What the bot reports is shown before its answer is sent.

use crate::use_cases::{Stage, USER};
use async_trait::async_trait;
use companion_domain::{
    change::{Kind, Subject, Tally},
    model::{Roster, StaffGrant, StaffGrants},
    port::{
        BotTelemetry, GrantStore, Numbered, Record, RecordSource, Replace, SessionStore, SourceError,
        SyncError, TeamRoster, WorldStore,
    },
};
use companion_storage_memory::MemoryStorage;
use companion_testkit::world::{
    a_feedback, a_guild, a_heartbeat, a_member, a_subscription, a_team_member, at, guild_id, user_id,
};

/// A stream of one batch.
struct Batch(Option<Vec<Record>>);

#[async_trait]
impl RecordSource for Batch {
    async fn next(&mut self) -> Result<Option<Vec<Numbered>>, SourceError> {
        let number = |(line, record)| Numbered { line, record };
        Ok(self.0.take().map(|records| (1..).zip(records).map(number).collect()))
    }
}

#[tokio::test]
async fn every_report_is_told_to_those_who_keep_copies_before_it_is_answered() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    let feed = &stage.use_cases.feed;
    stage.use_cases.following.catch_up().await.unwrap();
    let (user, guild) = (user_id(USER), guild_id(7));
    let staff: StaffGrants = [StaffGrant::Founder].into_iter().collect();
    let roster = Roster::new(vec![a_team_member(USER, "Board", 1)]).unwrap();
    let feedback = a_feedback("a", 5);
    let mut told = 0;
    let mut tells = |tally: Tally, expected: Tally, subject: Subject| {
        assert_eq!(tally, expected, "{subject:?}");
        told += 1;
        let subjects = recorder.subjects();
        assert_eq!((subjects.len(), subjects.last()), (told, Some(&subject)));
    };
    tells(feed.put_guild(&a_guild(7)).await.unwrap(), Tally::ADDED, Subject::Guild(guild));
    let put = feed.put_member(&a_member(7, USER, &[1])).await.unwrap().unwrap();
    tells(put, Tally::ADDED, Subject::Member(guild, user));
    let removed = feed.remove_member(guild, user).await.unwrap().unwrap();
    tells(removed, Tally::REMOVED, Subject::Member(guild, user));
    tells(feed.remove_guild(guild).await.unwrap(), Tally::REMOVED, Subject::Guild(guild));
    let subscription = a_subscription(USER, &[7]);
    tells(feed.put_subscription(&subscription).await.unwrap(), Tally::ADDED, Subject::Subscription(user));
    tells(feed.remove_subscription(user).await.unwrap(), Tally::REMOVED, Subject::Subscription(user));
    tells(feed.put_staff(user, staff).await.unwrap(), Tally::ADDED, Subject::Staff(user));
    tells(feed.remove_staff(user).await.unwrap(), Tally::REMOVED, Subject::Staff(user));
    tells(feed.block(user).await.unwrap(), Tally::ADDED, Subject::Blocked(user));
    tells(feed.unblock(user).await.unwrap(), Tally::REMOVED, Subject::Blocked(user));
    tells(feed.put_feedback(&feedback).await.unwrap(), Tally::ADDED, Subject::Feedback(feedback.id.clone()));
    let removed = feed.remove_feedback(&feedback.id).await.unwrap();
    tells(removed, Tally::REMOVED, Subject::Feedback(feedback.id.clone()));
    tells(feed.replace_team(&roster).await.unwrap(), Tally::ADDED, Subject::Team);
    let heartbeat = a_heartbeat("one", at(1_000));
    tells(feed.report(&heartbeat).await.unwrap(), Tally::ADDED, Subject::Cluster(heartbeat.cluster.clone()));
    let mut stream = Batch(Some(vec![Record::Blocked(user)]));
    let synced = feed.sync(&Replace::default(), &mut stream).await.unwrap();
    tells(synced, Tally::ADDED, Subject::Blocked(user));
}

#[tokio::test]
async fn a_member_of_an_unknown_guild_is_answered_with_nothing() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.following.catch_up().await.unwrap();
    assert_eq!(stage.use_cases.feed.put_member(&a_member(7, USER, &[1])).await.unwrap(), None);
    assert_eq!(stage.use_cases.feed.remove_member(guild_id(7), user_id(USER)).await.unwrap(), None);
    assert_eq!(recorder.subjects(), []);
}

#[tokio::test]
async fn a_large_sync_is_told_as_one_change_of_its_kind() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.following.catch_up().await.unwrap();
    let guilds = (1..=101).map(|id| Record::Guild(a_guild(id)));
    let stream = guilds.chain([Record::Blocked(user_id(1))]).collect();
    let tally = stage.use_cases.feed.sync(&Replace::default(), &mut Batch(Some(stream))).await.unwrap();
    assert_eq!(tally, Tally { added: 102, ..Tally::NOTHING });
    assert_eq!(recorder.subjects(), [Subject::Many(Kind::Guild), Subject::Blocked(user_id(1))]);
}

#[tokio::test]
async fn a_sync_that_names_an_unknown_guild_changes_nothing() {
    let (stage, recorder) = Stage::followed(MemoryStorage::new());
    stage.use_cases.following.catch_up().await.unwrap();
    let stream = vec![
        Record::Blocked(user_id(1)),
        Record::Member(a_member(9, 1, &[])),
        Record::Member(a_member(8, 1, &[])),
        Record::Guild(a_guild(7)),
    ];
    let refused = stage.memory.storage.sync(&Replace::default(), &mut Batch(Some(stream))).await;
    assert!(matches!(refused, Err(SyncError::UnknownGuild { line: 2, guild }) if guild == guild_id(9)));
    stage.use_cases.following.catch_up().await.unwrap();
    assert_eq!(recorder.subjects(), []);
}

#[tokio::test]
async fn a_sync_takes_away_what_it_leaves_out_of_the_kinds_that_it_replaces() {
    let stage = Stage::new();
    let (kept, gone) = (stage.signs_in(USER, vec![]).await, stage.signs_in(USER + 1, vec![]).await);
    stage.use_cases.feed.report(&a_heartbeat("one", at(1_000))).await.unwrap();
    let storage = &*stage.memory.storage;
    let grant = GrantStore::find(storage, kept.user.id).await.unwrap().unwrap();
    let stream = vec![Record::Session(kept.session.clone()), Record::Grant(kept.user.id, grant.clone())];
    let kinds = [Kind::Session, Kind::Grant, Kind::Cluster].into();
    let tally = storage.sync(&Replace { kinds, shard: None }, &mut Batch(Some(stream))).await.unwrap();
    assert_eq!(tally, Tally { removed: 3, ..Tally::NOTHING });
    assert_eq!(SessionStore::find(storage, &kept.session.id).await.unwrap(), Some(kept.session));
    assert_eq!(SessionStore::find(storage, &gone.session.id).await.unwrap(), None);
    assert_eq!(GrantStore::find(storage, kept.user.id).await.unwrap(), Some(grant));
    assert_eq!(GrantStore::find(storage, gone.user.id).await.unwrap(), None);
    assert_eq!(storage.clusters().await.unwrap(), []);
}

#[tokio::test]
async fn a_sync_cannot_make_the_team_larger_than_it_can_be() {
    let stage = Stage::new();
    let places = |users: std::ops::Range<u64>| -> Vec<_> {
        users.map(|user| Record::TeamMember(a_team_member(user, "Board", 1))).collect()
    };
    let full = Roster::MAX as u64 + 1;
    stage.use_cases.feed.sync(&Replace::default(), &mut Batch(Some(places(1..full)))).await.unwrap();
    // Who is there already takes no second place.
    stage.use_cases.feed.sync(&Replace::default(), &mut Batch(Some(places(1..full)))).await.unwrap();
    let more = places(full - 1..full + 1);
    let refused = stage.use_cases.feed.sync(&Replace::default(), &mut Batch(Some(more))).await;
    assert!(matches!(refused, Err(SyncError::Source(SourceError::TeamFull { line: 2 }))), "{refused:?}");
    assert_eq!(TeamRoster::all(&*stage.memory.storage).await.unwrap().len(), Roster::MAX);
    let replace = Replace { kinds: [Kind::Team].into(), shard: None };
    let others = places(full..2 * full - 1);
    stage.use_cases.feed.sync(&replace, &mut Batch(Some(others))).await.unwrap();
    assert_eq!(TeamRoster::all(&*stage.memory.storage).await.unwrap().len(), Roster::MAX);
}
